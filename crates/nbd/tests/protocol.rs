//! What a client says and is told, byte by byte.

mod client;

use client::{Client, export};
use eraseblock_nbd::{Command, Connection, Errno, Event, Extent, Fault, Request, Style};

const OPTION: u64 = 0x4948_4156_454f_5054;
const ACK: u32 = 1;

#[test]
fn the_greeting_is_fixed_newstyle() {
    let mut connection = Connection::new(export());
    assert_eq!(connection.output(), b"NBDMAGICIHAVEOPT\0\x03");
}

#[test]
fn go_tells_sizes_and_begins_transmission() {
    let mut client = Client::greeted(3);
    let answers = client.option(7, &[&4u32.to_be_bytes()[..], b"disk", &[0, 1, 0, 2]].concat());
    assert_eq!(
        answers,
        [
            // Size 1 MiB; flush, FUA, trim, zeroes, several connections, cache, fast zero.
            (3, [&[0, 0][..], &(1u64 << 20).to_be_bytes(), &0x0d6d_u16.to_be_bytes()].concat()),
            (3, [&[0, 3][..], &[0, 0, 2, 0, 0, 0, 0x10, 0], &(1u32 << 20).to_be_bytes()].concat()),
            (3, b"\0\x02a drive for tests".to_vec()),
            (ACK, vec![]),
        ]
    );
    assert!(client.server.is_in_transmission());
}

#[test]
fn info_goes_on_with_options_and_unknown_names_are_refused() {
    let mut client = Client::greeted(3);
    let kinds = |answers: Vec<(u32, Vec<u8>)>| answers.iter().map(|a| a.0).collect::<Vec<_>>();
    assert_eq!(kinds(client.option(6, &[0; 6])), [3, 3, ACK]);
    assert_eq!(kinds(client.option(7, b"\0\0\0\x01x\0\0")), [(1 << 31) + 6]);
    assert_eq!(kinds(client.option(7, b"\0\0\0\x09x\0\0")), [(1 << 31) + 3]);
    assert_eq!(client.option(3, b""), [(2, b"\0\0\0\x04disk".to_vec()), (ACK, vec![])]);
    assert_eq!(kinds(client.option(3, b"x")), [(1 << 31) + 3]);
    assert_eq!(kinds(client.option(5, b"")), [(1 << 31) + 1], "there is no TLS");
    assert_eq!(kinds(client.option(77, b"")), [(1 << 31) + 1]);
    assert_eq!(kinds(client.option(8, b"")), [ACK]);
    assert_eq!(client.server.style(), Style::Structured);
    assert_eq!(kinds(client.option(11, b"")), [ACK]);
    assert_eq!(kinds(client.option(8, b"")), [(1 << 31) + 10], "no way back from extended headers");
    assert_eq!(client.server.style(), Style::Extended);
    assert_eq!(kinds(client.option(2, b"")), [ACK]);
    assert!(client.server.has_ended());
}

const TLS_REQUIRED: u32 = (1 << 31) + 5;

#[test]
fn nothing_is_shown_before_tls_where_it_is_required() {
    let kinds = |answers: Vec<(u32, Vec<u8>)>| answers.iter().map(|a| a.0).collect::<Vec<_>>();
    let mut client = Client::greeted_by_tls(3);
    let query = b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation";
    for (option, data) in
        [(3, &b""[..]), (6, &[0; 6]), (7, &[0; 6]), (8, b""), (10, query), (11, b""), (77, b"")]
    {
        assert_eq!(kinds(client.option(option, data)), [TLS_REQUIRED], "option {option}");
    }
    assert_eq!(client.server.style(), Style::Simple);
    assert_eq!(kinds(client.option(5, b"x")), [(1 << 31) + 3]);
    assert!(!client.server.waits_for_tls());
    assert_eq!(kinds(client.option(5, b"")), [ACK]);
    assert!(client.server.waits_for_tls());
    client.server.has_begun_tls();
    assert!(!client.server.waits_for_tls());
    // The same client as before, and nothing has been agreed on.
    assert_eq!(kinds(client.option(5, b"")), [(1 << 31) + 3], "TLS has begun");
    assert_eq!(kinds(client.option(10, query)), [(1 << 31) + 3], "no structured replies yet");
    assert_eq!(kinds(client.option(7, &[0; 6])), [3, 3, ACK]);
    assert!(client.server.is_in_transmission());

    let mut client = Client::greeted_by_tls(3);
    assert_eq!(kinds(client.option(2, b"")), [ACK], "to leave is always possible");
    let mut client = Client::greeted_by_tls(3);
    client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 4], b"disk"].concat());
    assert_eq!(client.events(), Err(Fault::Clear));
}

/// What somebody else puts behind the client's wish to begin TLS is not taken for the client's.
#[test]
fn what_comes_in_the_clear_behind_starttls_is_not_read() {
    let mut client = Client::greeted_by_tls(3);
    let start = [&OPTION.to_be_bytes()[..], &[0, 0, 0, 5, 0, 0, 0, 0]].concat();
    client.send(&[&start[..], &OPTION.to_be_bytes(), &[0, 0, 0, 8, 0, 0, 0, 0]].concat());
    assert_eq!(client.events(), Err(Fault::ClearAfterStart));
    assert!(client.server.has_ended());
}

#[test]
fn an_export_name_is_answered_without_a_header() {
    for (flags, length) in [(3, 10), (1, 134)] {
        let mut client = Client::greeted(flags);
        client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 4], b"disk"].concat());
        assert_eq!(client.events().unwrap(), []);
        let output = client.sent();
        assert_eq!((output.len(), &output[..8]), (length, &(1u64 << 20).to_be_bytes()[..]));
        assert!(client.server.is_in_transmission());
    }
    let mut client = Client::greeted(3);
    client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 4], b"none"].concat());
    assert_eq!(client.events(), Err(Fault::NoExport));
}

#[test]
fn what_breaks_negotiation_ends_it() {
    let mut client = Client::new();
    client.send(&8u32.to_be_bytes());
    assert_eq!(client.events(), Err(Fault::Handshake(8)));
    assert!(client.server.has_ended());

    let mut client = Client::greeted(3);
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(matches!(client.events(), Err(Fault::Magic { what: "an option", .. })));

    let mut client = Client::greeted(0);
    client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 0, 0]].concat());
    assert_eq!(client.events(), Err(Fault::Option(3)), "options are for fixed newstyle");

    let mut client = Client::greeted(3);
    client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 3, 0xff, 0, 0, 0]].concat());
    assert!(matches!(client.events(), Err(Fault::TooLong { what: "an option", .. })));

    let mut client = Client::greeted(3);
    let long = vec![7; 100_000];
    assert_eq!(client.option(3, &long)[0].0, (1 << 31) + 9, "passed over");
    assert_eq!(client.option(8, b""), [(ACK, vec![])]);

    let mut client = Client::greeted(3);
    let mut ended = None;
    for _ in 0..5000 {
        client.send(&[&OPTION.to_be_bytes()[..], &[0, 0, 0, 3, 0, 0, 0, 0]].concat());
        ended = client.events().err();
        client.sent();
        if ended.is_some() {
            break;
        }
    }
    assert_eq!(ended, Some(Fault::TooManyOptions(4096)));
}

#[test]
fn contexts_come_after_structured_replies_and_for_this_export() {
    let queries = |name: &str, queries: &[&str]| {
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend_from_slice(name.as_bytes());
        data.extend_from_slice(&(queries.len() as u32).to_be_bytes());
        for query in queries {
            data.extend_from_slice(&(query.len() as u32).to_be_bytes());
            data.extend_from_slice(query.as_bytes());
        }
        data
    };
    let context = |id: u32| (4, [&id.to_be_bytes()[..], b"base:allocation"].concat());
    let mut client = Client::greeted(3);
    assert_eq!(client.option(10, &queries("disk", &["base:allocation"]))[0].0, (1 << 31) + 3);
    client.option(8, b"");
    let ack = (ACK, vec![]);
    assert_eq!(client.option(9, &queries("", &[])), [context(0), ack.clone()]);
    assert_eq!(client.option(9, &queries("", &["base:"])), [context(0), ack.clone()]);
    assert_eq!(client.option(9, &queries("", &["qemu:"])), std::slice::from_ref(&ack));
    assert_eq!(client.option(10, &queries("", &[])), std::slice::from_ref(&ack));
    let both = queries("disk", &["x:y", "base:allocation"]);
    assert_eq!(client.option(10, &both), [context(1), ack.clone()]);
    // One that fails takes back the one before.
    assert_eq!(client.option(10, &both[..9])[0].0, (1 << 31) + 3);
    client.option(7, &[0; 6]);
    assert_eq!(client.ask(7, 0, 0, 4096, &[]).unwrap(), []);
    assert_eq!(client.sent()[..4], 0x668e_33ef_u32.to_be_bytes());
}

#[test]
fn simple_replies() {
    let mut client = Client::in_transmission(Style::Simple);
    let [(read, _)] = &client.ask(0, 0, 512, 1024, &[]).unwrap()[..] else { panic!() };
    assert_eq!(
        *read,
        Request { cookie: 1, command: Command::Read, offset: 512, length: 1024, fua: false }
    );
    let data = |bytes: &mut [u8]| {
        bytes.fill(9);
        Ok::<_, Errno>(())
    };
    client.server.data(read, data).unwrap();
    let head = [&0x6744_6698_u32.to_be_bytes()[..], &[0; 4], &1u64.to_be_bytes()].concat();
    assert_eq!(client.sent(), [head, vec![9; 1024]].concat());

    let asked = client.ask(1, 1, 512, 512, &[5; 512]).unwrap();
    assert_eq!(asked[0].1, [5; 512]);
    assert!(asked[0].0.fua && asked[0].0.command == Command::Write);
    client.server.failed(&asked[0].0, Errno::NoSpace);
    let head = [&0x6744_6698_u32.to_be_bytes()[..], &28u32.to_be_bytes(), &2u64.to_be_bytes()];
    assert_eq!(client.sent(), head.concat());

    // A read that fails on the way says nothing but that.
    let refused = client.server.data(read, |_| Err(Errno::Io));
    assert_eq!((refused, client.sent()), (Err(Errno::Io), vec![]));
}

#[test]
fn structured_and_extended_replies() {
    for style in [Style::Structured, Style::Extended] {
        let extended = style == Style::Extended;
        let mut client = Client::in_transmission(style);
        let head = |kind: u16, cookie: u64, offset: u64, length: u32| {
            if extended {
                let mut head = 0x6e8a_278c_u32.to_be_bytes().to_vec();
                head.extend([0, 1]);
                head.extend(kind.to_be_bytes());
                head.extend(cookie.to_be_bytes());
                head.extend(offset.to_be_bytes());
                head.extend(u64::from(length).to_be_bytes());
                head
            } else {
                let mut head = 0x668e_33ef_u32.to_be_bytes().to_vec();
                head.extend([0, 1]);
                head.extend(kind.to_be_bytes());
                head.extend(cookie.to_be_bytes());
                head.extend(length.to_be_bytes());
                head
            }
        };
        let asked = client.ask(0, 4, 512, 1024, &[]).unwrap();
        let data = |bytes: &mut [u8]| {
            bytes.fill(9);
            Ok::<_, Errno>(())
        };
        client.server.data(&asked[0].0, data).unwrap();
        let offset = 512u64.to_be_bytes().to_vec();
        assert_eq!(client.sent(), [head(1, 1, 512, 1032), offset, vec![9; 1024]].concat());

        let asked = client.ask(4, 0, 512, 1024, &[]).unwrap();
        client.server.failed(&asked[0].0, Errno::Io);
        assert_eq!(client.sent(), [head(0x8001, 2, 512, 6), vec![0, 0, 0, 5, 0, 0]].concat());

        let asked = client.ask(7, 0, 512, 4096, &[]).unwrap();
        let extents =
            [Extent { length: 1024, hole: true }, Extent { length: 1 << 40, hole: false }];
        client.server.extents(&asked[0].0, &extents);
        let told = if extended {
            let told: [u64; 4] = [1024, 3, 3072, 0];
            let told = told.map(u64::to_be_bytes).concat();
            [head(6, 3, 512, 40), [0, 0, 0, 1, 0, 0, 0, 2].to_vec(), told].concat()
        } else {
            let told: [u32; 5] = [1, 1024, 3, 3072, 0];
            [head(5, 3, 512, 20), told.map(u32::to_be_bytes).concat()].concat()
        };
        assert_eq!(client.sent(), told);

        let asked = client.ask(7, 8, 512, 4096, &[]).unwrap();
        client.server.extents(&asked[0].0, &extents);
        assert_eq!(client.sent().len(), if extended { 32 + 24 } else { 20 + 12 }, "one extent");

        let asked = client.ask(3, 0, 0, 0, &[]).unwrap();
        client.server.done(&asked[0].0);
        assert_eq!(client.sent().len(), if extended { 32 } else { 16 });
    }
}

#[test]
fn requests_that_make_no_sense_are_refused_and_the_rest_goes_on() {
    for style in [Style::Simple, Style::Structured, Style::Extended] {
        let mut client = Client::in_transmission(style);
        let end = 1 << 20;
        let refused = [
            (0, 0, end, 512, 22, "a read beyond the end"),
            (1, 0, end - 512, 1024, 28, "a write beyond the end"),
            (4, 0, u64::MAX - 511, 512, 22, "an offset that overflows"),
            (0, 0, 1, 512, 22, "an offset that is no multiple"),
            (6, 0, 0, 1, 22, "a length that is no multiple"),
            (3, 2, 0, 0, 22, "a flag of another command"),
            (99, 0, 0, 0, 22, "no such command"),
            (7, 0, 0, 0, 22, "the status of nothing"),
            (0, 0x8000, 0, 512, 22, "a flag that nobody knows"),
        ];
        for (command, flags, offset, length, errno, what) in refused {
            let payload = vec![0; if command == 1 { length as usize } else { 0 }];
            assert_eq!(client.ask(command, flags, offset, length, &payload).unwrap(), [], "{what}");
            assert_eq!(client.errno(), errno, "{what}, {style:?}");
        }
        if style == Style::Extended {
            // A payload that no command asks for, and a write whose payload is not announced.
            client.ask_raw(4, 0x20, 0, 512, &[1; 512]);
            assert_eq!(client.events().unwrap(), []);
            assert_eq!(client.errno(), 22);
            client.ask_raw(1, 0, 0, 512, &[]);
            assert_eq!(client.events().unwrap(), []);
            assert_eq!(client.errno(), 22);
        }
        assert_eq!(client.ask(0, 0, 0, 512, &[]).unwrap().len(), 1);
    }
}

#[test]
fn a_payload_beyond_the_limit_ends_the_connection_and_takes_no_memory() {
    for style in [Style::Simple, Style::Extended] {
        let mut client = Client::in_transmission(style);
        client.ask_raw(1, if style == Style::Extended { 0x20 } else { 0 }, 0, (1 << 20) + 512, &[]);
        assert!(matches!(client.events(), Err(Fault::TooLong { what: "a payload", .. })));
    }
    let mut client = Client::in_transmission(Style::Simple);
    client.ask_raw(1, 0, 0, 1 << 20, &[1; 100]);
    assert_eq!(client.events().unwrap(), []);
    client.server.space();
    assert!(client.server.held() <= 256 << 10, "announced, but not sent");
}

/// Whoever carries the bytes has to know that there is no use in more of them.
#[test]
fn options_wait_while_a_client_takes_no_answers() {
    let mut client = Client::greeted(3);
    let info =
        [&OPTION.to_be_bytes()[..], &[0, 0, 0, 6, 0, 0, 0, 10], &[0, 0, 0, 0], &[0, 2, 0, 1, 0, 2]];
    let info = info.concat();
    for _ in 0..4000 {
        assert!(!client.server.is_held_up() && !client.server.has_ended());
        client.send(&info);
        assert_eq!(client.events().unwrap(), []);
        if client.server.is_held_up() {
            break;
        }
    }
    assert!(client.server.is_held_up());
    client.sent();
    assert!(!client.server.is_held_up());
}

#[test]
fn a_client_leaves_and_a_server_ends() {
    let mut client = Client::in_transmission(Style::Simple);
    client.ask_raw(2, 0, 0, 0, &[]);
    assert_eq!(client.server.next(), Ok(Some(Event::Leaves)));
    assert!(client.server.has_ended());
    client.ask_raw(0, 0, 0, 512, &[]);
    assert_eq!(client.server.next(), Ok(None));

    let mut client = Client::in_transmission(Style::Simple);
    client.server.shut_down();
    assert_eq!(client.ask(1, 0, 0, 512, &[1; 512]).unwrap(), []);
    assert_eq!(client.errno(), 108);
    let mut client = Client::greeted(3);
    client.server.shut_down();
    assert_eq!(client.option(7, &[0; 6])[0].0, (1 << 31) + 7);
}

#[test]
fn a_drive_that_cannot_be_written_says_so() {
    let mut client = Client::new();
    let read_only = eraseblock_nbd::Export { read_only: true, ..(*export()).clone() };
    client.server = Connection::new(read_only.into());
    client.send(&3u32.to_be_bytes());
    client.events().unwrap();
    client.sent();
    let answers = client.option(7, &[0; 6]);
    assert_eq!(answers[0].1[10..], 0x050f_u16.to_be_bytes());
    for command in [1, 4, 6] {
        let payload = vec![0; if command == 1 { 512 } else { 0 }];
        assert_eq!(client.ask(command, 0, 0, 512, &payload).unwrap(), []);
        assert_eq!(client.errno(), 1);
    }
}

#[test]
fn exports_that_cannot_be_announced_are_refused() {
    let good = (*export()).clone();
    assert_eq!(good.check(), Ok(()));
    let with = |change: fn(&mut eraseblock_nbd::Export)| {
        let mut export = good.clone();
        change(&mut export);
        export.check().unwrap_err()
    };
    assert!(with(|e| e.sizes.minimum = 3).contains("power of two"));
    assert!(with(|e| e.sizes.preferred = 256).contains("preferred"));
    assert!(with(|e| e.sizes.most = 4096).contains("payload"));
    assert!(with(|e| e.size = 1000).contains("multiple"));
    assert!(with(|e| e.name = "x".repeat(5000)).contains("4096"));
}
