//! Rebuilding after a power cut.
//!
//! The order of operations above leaves each logical block in one of a few states. Its blocks, by the time they were
//! opened, end in a log (the one before it is then complete, and what is older is garbage) or in a data block, which
//! is complete unless everything in it lies in an older block as well: then the merge that wrote it is undone.

use super::{Bast, Bits, Cause, Content, Cx, Label, Log, NONE, Oob, PageState, Pool, Role};
use crate::nand::Image;

fn pages(image: &Image, block: u32) -> impl Iterator<Item = (u32, &Oob)> {
    image.block(block).iter().enumerate().filter_map(|(i, page)| match page {
        PageState::Done(oob) => Some((i as u32, oob)),
        _ => None,
    })
}

pub(super) fn run(ftl: &mut Bast, cx: &mut Cx<'_>, image: &Image) {
    ftl.pool = Pool::empty(&ftl.geometry);
    ftl.labels = vec![0; ftl.geometry.blocks() as usize];
    let mut owned: Vec<Vec<(u64, u32, Role)>> = vec![Vec::new(); ftl.data.len()];
    for block in 0..ftl.geometry.blocks() {
        if let Some((_, oob)) = pages(image, block).next() {
            owned[oob.owner as usize].push((oob.opened, block, oob.role));
            ftl.labels[block as usize] = oob.opened;
        }
    }
    let mut kept = Bits::new(ftl.geometry.blocks() as usize);
    let mut logs = Vec::new();
    for (lbn, blocks) in owned.iter_mut().enumerate() {
        blocks.sort_unstable_by_key(|&(opened, block, _)| (opened, block));
        while let [older @ .., (_, newest, Role::Data)] = blocks.as_slice()
            && pages(image, *newest).all(|(_, oob)| {
                older.iter().any(|(_, b, _)| {
                    pages(image, *b)
                        .any(|(_, o)| (o.lpn, o.seq, o.content) == (oob.lpn, oob.seq, oob.content))
                })
            })
        {
            blocks.pop();
        }
        let data = match blocks.as_slice() {
            [older @ .., (opened, block, Role::Log)] => {
                kept.set(*block as usize);
                logs.push((*opened, *block, lbn as u32));
                older.last().map_or(NONE, |(_, block, _)| *block)
            }
            [.., (_, block, Role::Data)] => *block,
            [] => NONE,
        };
        if data != NONE {
            kept.set(data as usize);
            ftl.data[lbn] = data;
            for (page, oob) in pages(image, data).filter(|(_, oob)| oob.content == Content::Host) {
                if oob.lpn % ftl.geometry.pages_per_block == page {
                    ftl.live.set((data * ftl.geometry.pages_per_block + page) as usize);
                }
            }
        }
    }
    for block in 0..ftl.geometry.blocks() {
        if !kept.get(block as usize) {
            if image.block(block).iter().any(|page| *page != PageState::Erased) {
                cx.erase(block, Cause::Mapping, NONE, NONE);
            }
            ftl.pool.give(ftl.geometry.unit_of(block), block);
        }
    }
    // Oldest first, so that the order of victims is that of opening. Merges that power interrupted may have left
    // more logs than there should be.
    logs.sort_unstable();
    for (opened, block, lbn) in logs {
        if ftl.unused.is_empty() {
            ftl.merge(cx, ftl.order.back());
        }
        let Some(index) = ftl.unused.pop() else { unreachable!("a merge frees a log") };
        ftl.logs[index as usize] = read_log(ftl, image, block, lbn, opened);
        let data = ftl.data[lbn as usize];
        for (_, oob) in pages(image, block).filter(|(_, oob)| oob.content == Content::Tombstone) {
            for &(lpn, _) in &image.trims[oob.lpn as usize] {
                if data != NONE {
                    ftl.live.clear(
                        (data * ftl.geometry.pages_per_block + lpn % ftl.geometry.pages_per_block) as usize,
                    );
                }
            }
        }
        ftl.log_of[lbn as usize] = index;
        ftl.order.push_front(&mut ftl.links, index);
    }
}

/// A log block's state from its pages, in the order of writing.
fn read_log(ftl: &Bast, image: &Image, block: u32, lbn: u32, opened: u64) -> Log {
    let ppb = ftl.geometry.pages_per_block;
    let mut log = Log {
        block,
        lbn,
        next: 0,
        in_order: true,
        trims: false,
        label: Label { role: Role::Log, owner: lbn, opened },
        position: vec![0; ppb as usize],
    };
    for (page, state) in image.block(block).iter().enumerate() {
        match state {
            PageState::Erased => continue,
            PageState::Torn => log.in_order = false,
            PageState::Done(oob) if oob.content == Content::Tombstone => {
                (log.in_order, log.trims) = (false, true);
                for &(lpn, _) in &image.trims[oob.lpn as usize] {
                    log.position[(lpn % ppb) as usize] = 0;
                }
            }
            PageState::Done(oob) => {
                log.in_order &= oob.lpn % ppb == page as u32 && page as u32 == log.next;
                log.position[(oob.lpn % ppb) as usize] = page as u16 + 1;
            }
        }
        log.next = page as u32 + 1;
    }
    log
}
