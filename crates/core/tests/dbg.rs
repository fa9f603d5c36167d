mod support;
use eraseblock_core::device::*;
use eraseblock_core::host::*;
use serde_json::json;
#[test]
fn dbg() {
    let mut best: Option<(usize,String)> = None;
    for seed in 0..3000u64 {
    let config = support::config(&json!({"nand":{"scheduling":"read-first","copy_back":true},"buffer":{"scheme":"bplru","size":"32 KiB","write_back":"background"},"host":{"replay":"open","max_outstanding":4,"partial_page":"read-modify-write","end_of_run":"flush"}}));
    let mut d = Device::new(&config, Options{verify:true}).unwrap();
    d.precondition().unwrap();
    let mut s = seed*77+1; let mut log=vec![]; let mut t=0;
    let mut err=None;
    let n = 5+seed%160;
    for _ in 0..n {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let off = (s>>33)%50; let len = 1+(s>>50)%13;
        if (s>>8)&1==1 { t += (s>>40)%3000000; }
        let op = match (s>>20)%16 {0..=7=>Op::Write,8..=12=>Op::Read,13..=14=>Op::Trim,_=>Op::Flush};
        let r = Request{arrival_ns:t,op,offset:if op==Op::Flush {0} else {off*2048},len:if op==Op::Flush {0} else {len*2048},volume:0,fua:op==Op::Write && (s>>25)%5==0};
        log.push((t,r.op,off,len,r.fua));
        if let Err(e) = d.submit(&r) { err=Some(e); break; }
    }
    if err.is_none() { if let Err(e)=d.finish() { err=Some(e); } }
    if let Some(e)=err { if best.as_ref().is_none_or(|b| b.0>log.len()) { best=Some((log.len(),format!("{e}\n{log:?}\n{}",d.engine().describe()))); } }
    }
    if let Some((_,b))=best { println!("{b}"); panic!(); }
}
