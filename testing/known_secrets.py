"""A made-up secret of each well-known format, the same ones in every run."""

from __future__ import annotations

import random
import string

DICE = random.Random(3)
ALNUM = string.ascii_letters + string.digits


def some(count: int, of: str = ALNUM) -> str:
    return "".join(DICE.choice(of) for _ in range(count))


KEY = "-----BEGIN PRIVATE KEY-----\n" + "".join(some(64) + "\n" for _ in range(5)) + "-----END PRIVATE KEY-----"
KNOWN = {
    "AWS": f"AKIA{some(16, string.ascii_uppercase + '234567')}",
    "GitHub": f"ghp_{some(36)}",
    "GitHub, fine-grained": f"github_pat_{some(22)}_{some(59)}",
    "GitLab": f"glpat-{some(20)}",
    "Slack": f"xoxb-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}",
    "Stripe": f"sk_live_{some(24)}",
    "OpenAI": f"sk-proj-{some(48)}",
    "OpenAI, old": f"sk-1{some(47)}",
    "Anthropic": f"sk-ant-api03-{some(93)}",
    "Google": f"AIza{some(35)}",
    "npm": f"npm_{some(36)}",
    "PyPI": f"pypi-{some(160)}",
    "JWT": f"eyJ{some(33)}.eyJ{some(40)}.{some(43)}",
    "Slack webhook": f"https://hooks.slack.com/services/T{some(8)}/B{some(8)}/{some(24)}",
    "Discord webhook": f"https://discord.com/api/webhooks/{some(18, string.digits)}/{some(68)}",
    "Discord": f"M1{some(22)}.{some(6)}.{some(27)}",
    "Stripe, restricted": f"rk_live_{some(99)}",
    "Stripe, long": f"sk_live_{some(99)}",
    "Stripe, webhook": f"whsec_{some(32)}",
    "OpenRouter": f"sk-or-v1-{some(64, '0123456789abcdef')}",
    "Google, client": f"GOCSPX-{some(28)}",
    "Hugging Face": f"hf_{some(34)}",
    "SendGrid": f"SG.{some(22)}.{some(43)}",
    "Twilio": f"SK{some(32, '0123456789abcdef')}",
    "Mailgun": f"key-{some(32, '0123456789abcdef')}",
    "Mailchimp": f"{some(32, '0123456789abcdef')}-us12",
    "Square": f"sq0atp-{some(22)}",
    "Shopify": f"shpat_{some(32, '0123456789abcdef')}",
    "DigitalOcean": f"dop_v1_{some(64, '0123456789abcdef')}",
    "Vault": f"hvs.{some(24)}",
    "Linear": f"lin_api_{some(40)}",
    "Databricks": f"dapi{some(32, '0123456789abcdef')}",
    "Telegram": f"{some(9, '123456789')}:AA{some(33)}",
    "age": f"AGE-SECRET-KEY-1{some(58, string.ascii_uppercase + string.digits)}",
    "a key": KEY,
}

# Formats with so little of their own that they count only where nothing stands in front of them.
STRICT = frozenset({"Discord", "Twilio", "Mailgun", "Mailchimp"})
