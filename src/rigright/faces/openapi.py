"""What programs may ask of the page, in OpenAPI: questions from the options, answers from the records."""

from __future__ import annotations

from typing import Any

from rigright import __version__
from rigright.base.words import LANGUAGES
from rigright.faces import page, tools
from rigright.faces.reply import FORMS


def document() -> dict[str, Any]:
    """The document, in OpenAPI 3.1."""
    answers = {verb: tools.answer(verb) for verb in (*page.ASKED, *page.FILES)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rigright", "version": __version__},
        "paths": {
            "/api/ask": {
                "post": {
                    "operationId": "ask",
                    "summary": "a command with its options, answered as the command line answers",
                    "requestBody": _json({"oneOf": [_question(verb) for verb in page.ASKED]}),
                    "responses": _responses(page.ASKED),
                }
            },
            "/api/file": {
                "post": {
                    "operationId": "file",
                    "summary": "a file for a command: a machine for doctor, runs for validate",
                    "parameters": [
                        _parameter("verb", [*page.FILES], required=True),
                        _parameter("form", [*FORMS], default="html"),
                        _parameter("lang", [*LANGUAGES], default=LANGUAGES[0]),
                    ],
                    "requestBody": {"required": True, "content": {"application/octet-stream": {}}},
                    "responses": _responses(tuple(page.FILES)),
                }
            },
        },
        "components": {"schemas": answers | {"error": tools.answer("error")}},
    }


_REFUSED = {
    "400": "no question of a command that is offered",
    "401": "a token is needed",
    "403": "asked from another site, or by another name",
    "413": "too large",
    "415": "not application/json",
    "503": "too many questions wait",
}


def _responses(verbs: tuple[str, ...]) -> dict[str, Any]:
    return {
        "200": _json({"anyOf": [_ref(verb) for verb in (*verbs, "error")]})
        | {
            "description": "the answer; an error is its record, and marked by x-failed",
            "headers": {
                "x-exit-code": {"schema": {"type": "integer"}, "description": "of the command"},
                "x-failed": {"schema": {"const": "yes"}, "description": "it is an error"},
            },
        },
        **{code: {"description": text} for code, text in _REFUSED.items()},
    }


def _parameter(name: str, words: list[str], *, default: str = "", required: bool = False) -> dict[str, Any]:
    schema = {"enum": words} | ({"default": default} if default else {})
    return {"name": name, "in": "query", "required": required, "schema": schema}


def _question(verb: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["verb", "said"],
        "properties": {
            "verb": {"const": verb},
            "said": tools.schema(verb, None),
            "form": {"enum": [*FORMS], "default": "json"},
            "lang": {"enum": [*LANGUAGES], "default": LANGUAGES[0]},
        },
    }


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}
