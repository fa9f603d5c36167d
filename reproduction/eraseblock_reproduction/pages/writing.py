"""Writes the pages into their places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eraseblock.toolkit import check_writable, make_folder, replace_file
from eraseblock_reproduction.answers import PaperAnswer
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.markdown import Section, section, studies_page, table_csv
from eraseblock_reproduction.beyond.study import NAME as BEYOND
from eraseblock_reproduction.pages.made import Made, made
from eraseblock_reproduction.pages.overview import overview
from eraseblock_reproduction.pages.paper import paper_page
from eraseblock_reproduction.pages.pictures import pictures_of
from eraseblock_reproduction.pages.tables import claims_csv, pictures_csv

FOLDER_NAME = "papers"


def write_pages(papers: Sequence[PaperAnswer], path: Path, studies: Sequence[StudyAnswer] = ()) -> None:
    """Put the overview in the place of the page that is there, and the papers' pages beside it."""
    check_writable(path.resolve().parent)
    folder = path.parent / FOLDER_NAME
    make_folder(folder)
    by = made()
    for paper in papers:
        _write_paper(paper, folder, by)
    if studies:
        write_studies([section(study) for study in studies], folder)
    # What was written by an earlier call stays there.
    with_beyond = (folder / f"{BEYOND}.md").exists()
    replace_file(path, [overview(papers, FOLDER_NAME, by, with_beyond=with_beyond).encode()])


def write_studies(sections: Sequence[Section], folder: Path) -> None:
    """Put the page of what is beyond the papers into a folder, and its long tables beside it."""
    page = "\n".join(studies_page(sections)) + "\n"
    replace_file(folder / f"{BEYOND}.md", [page.encode()])
    for one in sections:
        for file, table in one.data.items():
            replace_file(folder / file, [table_csv(table).encode()])


def _write_paper(paper: PaperAnswer, folder: Path, by: Made) -> None:
    name = paper.paper.name
    pictures = pictures_of(paper)
    for picture in pictures:
        replace_file(folder / picture.file, [picture.svg.encode()])
    replace_file(folder / f"{name}.csv", [claims_csv(paper).encode()])
    if pictures:
        replace_file(folder / f"{name}-charts.csv", [pictures_csv(pictures).encode()])
    replace_file(folder / f"{name}.md", [paper_page(paper, pictures, by).encode()])
