"""A bank's transactions (like TPC-B) on SQLite, at random moments that do not wait for answers.

usage: sqlite_bank.py load DATABASE ACCOUNTS
       sqlite_bank.py run DATABASE ACCOUNTS JOURNAL SYNCHRONOUS RATE SECONDS
"""

import random
import sqlite3
import sys
import time
from pathlib import Path

TELLERS = 100
FILLER = "x" * 84  # as in TPC-B, a row of an account has about 100 bytes
SCHEMA = """
CREATE TABLE accounts (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, balance INTEGER, filler TEXT);
CREATE TABLE tellers (id INTEGER PRIMARY KEY, balance INTEGER, filler TEXT);
CREATE TABLE history (account INTEGER, teller INTEGER, delta INTEGER, at REAL, filler TEXT);
"""


def load(path: str, accounts: int) -> None:
    """Fills the tables in transactions of 10,000 rows, then builds an index over scattered keys."""
    dice = random.Random(1)
    numbers = list(range(accounts))
    dice.shuffle(numbers)
    bank = sqlite3.connect(path, isolation_level=None)
    bank.executescript(SCHEMA)
    bank.executemany("INSERT INTO tellers VALUES (?, 0, ?)", [(teller, FILLER) for teller in range(TELLERS)])
    for start in range(0, accounts, 10_000):
        bank.execute("BEGIN")
        rows = [(row, numbers[row], 0, FILLER) for row in range(start, min(accounts, start + 10_000))]
        bank.executemany("INSERT INTO accounts VALUES (?, ?, ?, ?)", rows)
        bank.execute("COMMIT")
    bank.execute("CREATE UNIQUE INDEX account_numbers ON accounts (number)")
    bank.execute("CREATE INDEX history_accounts ON history (account, at)")
    bank.close()


def popular(dice: random.Random, accounts: int) -> int:
    """An account's number: some are asked for all the time (Pareto, shape 0.8), most hardly ever."""
    return int(dice.paretovariate(0.8) * 7919) % accounts


def run(path: str, accounts: int, settings: dict[str, str], rate: float, seconds: float) -> None:
    """Changes an account, a teller and the history in each transaction; every tenth one only reads."""
    dice = random.Random(str(settings))
    bank = sqlite3.connect(path, isolation_level=None)
    for name, value in settings.items():
        bank.execute(f"PRAGMA {name} = {value}")
    start = time.monotonic()
    due, late, count = 0.0, 0.0, 0
    while (due := due + dice.expovariate(rate)) < seconds:
        time.sleep(max(0.0, start + due - time.monotonic()))
        late += max(0.0, time.monotonic() - start - due)
        count += 1
        account, teller, delta = popular(dice, accounts), dice.randrange(TELLERS), dice.randint(-5000, 5000)
        if count % 10 == 0:
            bank.execute("SELECT balance FROM accounts WHERE number = ?", (account,)).fetchone()
            continue
        bank.execute("BEGIN IMMEDIATE")
        bank.execute("UPDATE accounts SET balance = balance + ? WHERE number = ?", (delta, account))
        bank.execute("UPDATE tellers SET balance = balance + ? WHERE id = ?", (delta, teller))
        row = (account, teller, delta, start + due, FILLER[:22])
        bank.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?)", row)
        bank.execute("COMMIT")
    bank.close()
    sys.stderr.write(
        f"{Path(path).name}: {count} transactions, {1000 * late / max(count, 1):.1f} ms late on average\n"
    )


match sys.argv[1:]:
    case ["load", path, accounts]:
        load(path, int(accounts))
    case ["run", path, accounts, journal, synchronous, rate, seconds]:
        settings = {"journal_mode": journal, "synchronous": synchronous, "cache_size": "-2000"}
        run(path, int(accounts), settings, float(rate), float(seconds))
    case _:
        sys.exit(__doc__)
