"""What programs may ask of the page, in OpenAPI: questions from the options, answers from the records."""

from __future__ import annotations

from typing import Any

from rigright import __version__
from rigright.base.words import LANGUAGES
from rigright.faces import page, tools
from rigright.faces.reply import FORMS


def document() -> dict[str, Any]:
    """The document, in OpenAPI 3.1."""
    answers = {verb: tools.answer(verb) for verb in page.ASKED}
    return {
        "openapi": "3.1.0",
        "info": {"title": "rigright", "version": __version__},
        "paths": {
            "/api/ask": {
                "post": {
                    "operationId": "ask",
                    "summary": "a command with its options, answered as the command line answers",
                    "requestBody": _json({"oneOf": [_question(verb) for verb in page.ASKED]}),
                    "responses": {
                        "200": _json({"anyOf": [_ref(verb) for verb in answers] + [_ref("error")]})
                        | {
                            "description": "the answer; an error is its record, and marked by x-failed",
                            "headers": {
                                "x-exit-code": {
                                    "schema": {"type": "integer"},
                                    "description": "of the command",
                                },
                                "x-failed": {"schema": {"const": "yes"}, "description": "it is an error"},
                            },
                        },
                        **{code: {"description": said} for code, said in _REFUSED.items()},
                    },
                }
            }
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
