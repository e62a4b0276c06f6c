"""What a guide says, sentence by sentence, judged against the program's own facts and predictions."""
