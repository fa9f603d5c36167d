//! The examples that schemes' files hold, the papers' among them: what the papers say comes of
//! them.

use crate::support::numbers;
use eraseblock_core::buffer::{self, Action, Answer};
use eraseblock_core::example::{Step, play};
use eraseblock_core::support::ids::Lpn;
use eraseblock_core::support::registry::{Entry, Example};

fn registered(name: &str) -> &'static Entry {
    buffer::registry().iter().find(|entry| entry.name == name).unwrap()
}

/// The example of a scheme with these words in its source.
fn example(name: &str, source: &str) -> Example {
    *registered(name).about.examples.iter().find(|example| example.source.contains(source)).unwrap()
}

/// What came of an example.
struct Played {
    hits: usize,
    /// Each eviction: its pages, and whether they are dirty.
    left: Vec<(Action, Vec<(u32, bool)>)>,
    /// What the buffer holds in the end.
    state: Vec<Vec<u32>>,
    steps: Vec<Step>,
}

impl Played {
    fn new(name: &str, example: &Example) -> Self {
        let steps = play(name, example).unwrap();
        let decided = || steps.iter().flat_map(|step| &step.decided);
        let hits =
            decided().flat_map(|d| &d.outcome.answers).filter(|a| **a == Answer::Hit).count();
        let left = decided()
            .flat_map(|d| d.outcome.evictions.iter().map(|e| (e.action, d.outcome.pages_of(e))))
            .map(|(action, pages)| {
                (action, pages.iter().map(|page| (page.lpn.0, page.dirty)).collect())
            })
            .collect();
        let state = numbers(&steps.last().unwrap().state);
        Self { hits, left, state, steps }
    }

    /// The pages of each eviction.
    fn pages(&self) -> Vec<Vec<u32>> {
        self.left.iter().map(|(_, pages)| pages.iter().map(|(lpn, _)| *lpn).collect()).collect()
    }

    /// Flushes of more than one page whose pages follow one another.
    fn sequential(&self) -> usize {
        self.pages()
            .iter()
            .filter(|f| f.len() > 1 && f.windows(2).all(|w| w[0] + 1 == w[1]))
            .count()
    }
}

fn dirty(pages: impl IntoIterator<Item = u32>) -> Vec<(u32, bool)> {
    pages.into_iter().map(|lpn| (lpn, true)).collect()
}

#[test]
fn every_example_plays_and_something_leaves_or_moves() {
    for entry in buffer::registry() {
        for example in entry.about.examples {
            let played = Played::new(entry.name, example);
            let noted = played
                .steps
                .iter()
                .flat_map(|step| &step.decided)
                .any(|d| !d.outcome.notes.is_empty());
            assert!(
                !played.left.is_empty() || noted || entry.name == "none",
                "{}: {example:?}",
                entry.name
            );
            assert!(!example.shows.is_empty(), "{}", entry.name);
        }
    }
}

#[test]
fn hbm_table_1_1_page_lru() {
    let lru = Played::new("lru", &example("lru", "table 1.1"));
    assert_eq!((lru.hits, lru.pages(), lru.sequential()), (6, vec![vec![0], vec![5]], 0));
    assert_eq!(lru.state.concat(), [7, 10, 1, 14, 2, 11, 3, 9]);
}

#[test]
fn hbm_table_1_1_block_lru() {
    for order in ["evict-first", "touch-first"] {
        let options = format!(r#"{{"evict_order": "{order}"}}"#);
        let blocks = Example { options: options.leak(), ..example("block-lru", "table 1.1") };
        let blocks = Played::new("block-lru", &blocks);
        assert_eq!(
            (blocks.hits, blocks.pages(), blocks.sequential()),
            (2, vec![vec![0, 1, 2, 3], vec![5, 7]], 1)
        );
        assert_eq!(blocks.state, [vec![7], vec![9, 10, 11], vec![1, 2, 3], vec![14]]);
    }
}

/// Only full blocks in the block region; a page that has to leave takes its block along or not.
#[test]
fn hbm_table_1_1_hybrid() {
    let with = example("hbm", "table 1.1");
    let without = Example { options: r#"{"threshold": 4, "compensation": false}"#, ..with };
    for (example, hits, last) in [(without, 3, vec![5]), (with, 2, vec![5, 7])] {
        let hybrid = Played::new("hbm", &example);
        assert_eq!((hybrid.hits, hybrid.pages()), (hits, vec![vec![0, 1, 2, 3], last]));
        assert_eq!(hybrid.state.concat(), [7, 10, 1, 14, 2, 11, 3, 9]);
    }
}

#[test]
fn hbm_figure_3_4_the_least_popular_and_fullest_block_leaves() {
    // Popularity 3, 3 and 2: block 4 goes, with the clean page 19.
    let expected = (Action::Evict, vec![(16, true), (17, true), (18, true), (19, false)]);
    assert_eq!(Played::new("hbm", &example("hbm", "3.4(a)")).left, [expected]);
    // Popularity 3, 2 and 2: block 4 has four pages, block 2 three; all of block 4 is clean.
    let b = example("hbm", "3.4(b)");
    let expected = (Action::Drop, vec![(16, false), (17, false), (18, false), (19, false)]);
    assert_eq!(Played::new("hbm", &b).left, [expected]);
    // Section 3.5.2's reading: the block with fewest pages.
    let fewest = Example { options: r#"{"threshold": 1, "size_tie": "fewest-pages"}"#, ..b };
    assert_eq!(Played::new("hbm", &fewest).left, [(Action::Evict, dirty([8, 9, 11]))]);
}

#[test]
fn hbm_figure_3_5_three_pages_of_a_block_move_together() {
    let played = Played::new("hbm", &example("hbm", "3.5"));
    let [.., before, moved, joined] = &played.steps[..] else { panic!("{:?}", played.steps) };
    assert_eq!(numbers(&before.state), [[1], [5], [0]]);
    assert_eq!(numbers(&moved.state), [vec![5], vec![0, 1, 2]]);
    let out = &moved.decided[0].outcome;
    assert_eq!(
        (out.notes[0].what, &out.note_pages[..]),
        ("moved to the block region", &[0, 1, 2].map(Lpn)[..])
    );
    assert_eq!(numbers(&joined.state), [vec![5], vec![0, 1, 2, 3]]);
}

/// The ring 0, 5, 3, 7 with the hand at 0 and bits 1, 0, 1, 0: page 48 sends block 7 away, not
/// block 5 where the hand stops, and block 12 enters before block 0. Block 1 fills the buffer.
#[test]
fn lb_clock_figure_2_4() {
    let clock = Played::new("lb-clock", &example("lb-clock", "2.4"));
    // All bits are set: a round of the hand clears them, and the fullest block leaves. Then blocks
    // 0 and 3 are written.
    assert_eq!(clock.pages(), [vec![60, 61, 62, 63], vec![28, 29, 30]]);
    let before = &clock.steps[clock.steps.len() - 2].state;
    assert_eq!(numbers(before), [vec![0, 1], vec![20], vec![12, 13], vec![28, 29, 30], vec![4, 5]]);
    assert_eq!(clock.state, [vec![20], vec![12, 13], vec![4, 5], vec![48], vec![0, 1]]);
}

#[test]
fn bplru_figure_3_evicts_the_block_written_longest_ago() {
    let bplru = Played::new("bplru", &example("bplru", "figure 3"));
    assert_eq!((bplru.hits, bplru.pages()), (1, vec![vec![5, 6]]));
    assert_eq!(bplru.state[1], [12, 15]);
}

#[test]
fn bplru_figure_4_pads_the_block() {
    let bplru = Played::new("bplru", &example("bplru", "figure 4"));
    assert_eq!(bplru.left, [(Action::EvictPadded, dirty([12, 15]))]);
}

#[test]
fn bplru_figure_5_sends_a_sequential_block_to_the_end() {
    let figure = example("bplru", "figure 5");
    let bplru = Played::new("bplru", &figure);
    let before = &bplru.steps[bplru.steps.len() - 2].state;
    assert_eq!(before.iter().map(|pages| pages[0].block(4).0).collect::<Vec<_>>(), [1, 3, 0, 2]);
    assert_eq!(bplru.pages(), [[8, 9, 10, 11]]);
    // Without compensation the block written longest ago goes.
    let plain = Example { options: r#"{"compensation": false}"#, ..figure };
    assert_eq!(Played::new("bplru", &plain).pages(), [[0]]);
}

#[test]
fn cflru_lets_clean_pages_of_the_window_go_first() {
    let figure = example("cflru", "");
    for (options, expected) in [
        (figure.options, [(2, false), (4, false), (5, false)]),
        (r#"{"window": 0.25}"#, [(1, true), (2, false), (3, true)]),
        (r#"{"window": 0}"#, [(1, true), (2, false), (3, true)]),
    ] {
        let cflru = Played::new("cflru", &Example { options, ..figure });
        let left: Vec<_> = cflru.left.into_iter().flat_map(|(_, pages)| pages).collect();
        assert_eq!(left, expected, "{options}");
    }
}

#[test]
fn separate_lists_keep_reads_and_writes_apart() {
    let [blocks, pages] = registered("split-lru").about.examples else { panic!() };
    let split = Played::new("split-lru", pages);
    let left: Vec<_> = split.left.iter().flat_map(|(_, pages)| pages.clone()).collect();
    assert_eq!(left, [(1, true), (3, false), (2, true)]);
    assert_eq!(split.state.concat(), [5, 4, 6]);
    let split = Played::new("split-lru", blocks);
    let gone = (Action::Drop, vec![(0, false)]);
    assert_eq!(split.left, [(Action::Evict, dirty([4, 5])), gone]);
    assert_eq!(split.state, [vec![12], vec![8], vec![1], vec![16, 17], vec![9], vec![13]]);
}

#[test]
fn clc_evicts_the_largest_cold_cluster() {
    let clc = Played::new("clc", &example("clc", ""));
    assert_eq!(clc.left, [(Action::Evict, dirty([0, 1]))]);
    assert_eq!(clc.state, [[12], [8], [4]]);
    let cooled =
        clc.steps.iter().flat_map(|step| &step.decided).flat_map(|d| d.outcome.note_pages.clone());
    assert_eq!(cooled.collect::<Vec<_>>(), [0, 1, 4, 8].map(Lpn));
}

#[test]
fn ref_evicts_pages_of_one_block_after_another() {
    let pages = Played::new("ref", &example("ref", "")).pages();
    assert_eq!(pages, [[0], [1], [4], [5]]);
    let lru = Played::new("lru", &Example { options: "", ..example("ref", "") }).pages();
    assert_eq!(lru, [[0], [4], [1], [5]]);
}

#[test]
fn wsr_gives_dirty_pages_a_second_chance() {
    let [lirs, lru] = registered("lirs-wsr").about.examples else { panic!() };
    let played = Played::new("lirs-wsr", lirs);
    let left = [3, 4, 2].map(|page| (Action::Drop, vec![(page, false)]));
    assert_eq!(played.left, left);
    assert_eq!(played.state.concat(), [3, 1, 5]);
    let lru = Played::new("lirs-wsr", lru);
    assert_eq!(lru.left, [(Action::Drop, vec![(2, false)])]);
    assert_eq!(lru.state.concat(), [3, 1]);
}

#[test]
fn bpac_moves_pages_both_ways() {
    let bpac = Played::new("bpac", &example("bpac", ""));
    assert_eq!(numbers(&bpac.steps[4].state), [[16], [12], [8], [4], [0]]);
    assert_eq!(numbers(&bpac.steps[5].state), [[0], [16], [12], [8], [4]]);
    assert_eq!(numbers(&bpac.steps[6].state), [vec![0], vec![16], vec![12], vec![4], vec![8, 9]]);
    assert_eq!(bpac.left, [(Action::Evict, dirty([8, 9]))]);
    assert_eq!(bpac.state, [vec![0], vec![16], vec![12], vec![4], vec![20, 21, 22]]);
}

#[test]
fn cbm_fills_the_holes_of_a_block() {
    let filled = example("cbm", "");
    let expected = vec![(0, true), (1, true), (2, false), (3, true)];
    let cbm = Played::new("cbm", &filled);
    assert_eq!((cbm.left, cbm.state), (vec![(Action::Evict, expected)], vec![vec![4]]));
    let plain = Played::new("cbm", &Example { options: r#"{"fill_holes": false}"#, ..filled });
    assert_eq!(
        (plain.left, plain.state),
        (vec![(Action::Evict, dirty([0, 1, 3]))], vec![vec![4], vec![2]])
    );
}

/// Figure 2(c): three requests come, page 2 and then page 3 is written again, and page 1 is what a
/// victim would be. Pages in the order of the paper's scenarios 1 to 4.
#[test]
fn epo_figure_2c_moves_pages_to_the_head_and_evicts_the_tail() {
    let played = Played::new("epo", &example("epo", "figure 2(c)"));
    let states: Vec<_> = played.steps.iter().map(|step| numbers(&step.state).concat()).collect();
    assert_eq!(states[2..6], [vec![3, 2, 1], vec![2, 3, 1], vec![4, 2, 3, 1], vec![3, 4, 2, 1]]);
    assert_eq!((played.hits, played.left), (2, vec![(Action::Evict, dirty([1]))]));
    assert_eq!(states[6], [5, 3, 4, 2]);
}

#[test]
fn epo_evicts_one_page_of_each_element_and_has_room_for_the_next() {
    let [_, batch, passed, again] = registered("epo").about.examples else {
        panic!("four examples")
    };
    let played = Played::new("epo", batch);
    assert_eq!(played.pages(), [[0, 1], [2, 3]]);
    // Page 4 made room for two; page 6 takes the slot that was left over.
    let states: Vec<_> = played.steps.iter().map(|step| numbers(&step.state)).collect();
    assert_eq!(states[1..3], [[vec![4, 2], vec![3]], [vec![6, 4, 2], vec![3]]]);
    assert_eq!(Played::new("epo", passed).pages(), [[0]]);
    assert_eq!(Played::new("epo", again).pages(), [[0, 2]]);
}

#[test]
fn whole_requests_leave_with_the_pages_that_no_later_one_wrote() {
    let played = Played::new("request-lru", &registered("request-lru").about.examples[0]);
    assert_eq!(played.left, [(Action::Evict, dirty([0, 2]))]);
    assert_eq!(played.state, [vec![7], vec![6], vec![5], vec![1]]);
}

/// Modules 0, 1, 2 and 3: all four leave. Modules 0, 0, 1, 2 and 3: the second one stays.
#[test]
fn cave_takes_one_block_for_each_module() {
    let [four, five, pages] = registered("cave").about.examples else { panic!("three examples") };
    let played = Played::new("cave", four);
    assert_eq!(
        (played.pages(), played.state),
        (vec![vec![0], vec![4], vec![8], vec![12]], vec![vec![16]])
    );
    let played = Played::new("cave", five);
    assert_eq!(played.pages(), [[0], [4], [8], [12]]);
    assert_eq!(played.state, [[20], [16]]);
    let played = Played::new("cave", pages);
    let left = [
        (Action::Drop, vec![(1, false)]),
        (Action::Evict, dirty([0])),
        (Action::Evict, dirty([3])),
    ];
    assert_eq!((played.left, played.state.concat()), (left.to_vec(), vec![6, 5, 2]));
}

#[test]
fn idle_modules_get_one_victim_each() {
    let fap = Played::new("fap-lru", &registered("fap-lru").about.examples[0]);
    assert_eq!((fap.pages(), fap.state), (vec![vec![0], vec![4]], vec![vec![12], vec![8]]));
    let mca = Played::new("mca", &registered("mca").about.examples[0]);
    assert_eq!((mca.pages(), mca.state.concat()), (vec![vec![0], vec![1]], vec![3, 2]));
    let gb = Played::new("gb", &registered("gb").about.examples[0]);
    assert_eq!((gb.pages(), gb.state.concat()), (vec![vec![0], vec![1]], vec![5, 4, 3, 2]));
}

#[test]
fn a_marked_block_of_blas_loses_its_pages_one_by_one_until_it_is_written() {
    let played = Played::new("blas", &registered("blas").about.examples[0]);
    assert_eq!(played.pages(), [[0], [4]]);
    assert_eq!(played.state, [vec![20, 21], vec![1], vec![16, 17], vec![12, 13], vec![5]]);
}

#[test]
fn long_requests_of_s_ftl_make_room_for_long_ones() {
    let played = Played::new("sftl", &registered("sftl").about.examples[0]);
    assert_eq!(played.pages(), [[0, 1, 2, 3, 4]]);
    assert_eq!(played.state, [vec![40], vec![48, 49, 50, 51, 52], vec![8, 9, 10, 11, 12]]);
}
