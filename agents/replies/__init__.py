"""What kind of reply a patient's message is: an answer, or one of the things that people say instead."""

from agents.replies.rules import TOPICS, Reply, ReplyKind, Topic, gives_orders, in_distress
from agents.replies.second import read_reply

__all__ = ["TOPICS", "Reply", "ReplyKind", "Topic", "gives_orders", "in_distress", "read_reply"]
