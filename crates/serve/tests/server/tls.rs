//! Clients that encrypt what they say, and such as do not, or cannot.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use eraseblock_serve::{Address, Options, Tls, serve};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::common::client::{Client, READ, WRITE};
use super::common::{Host as _, Model};
use super::{Server, image};

pub fn certificates() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../serve/tests/certificates"].iter().collect()
}

/// A client that trusts the tests' authority, and shows the certificate of that name.
fn client_config(own: Option<&str>) -> Arc<ClientConfig> {
    let file = |name: &str| certificates().join(name);
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("ca-cert.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    Arc::new(match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            let chain = CertificateDer::from_pem_file(file(&format!("{own}-cert.pem"))).unwrap();
            let key = PrivateKeyDer::from_pem_file(file(&format!("{own}-key.pem"))).unwrap();
            builder.with_client_auth_cert(vec![chain], key).unwrap()
        }
    })
}

impl Server {
    pub fn encrypted_client(&mut self, own: Option<&str>) -> Result<Client, String> {
        // It is there as soon as one in the clear is refused.
        drop(self.refused());
        Client::connect_encrypted(&self.socket, |stream| {
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            StreamOwned::new(ClientConnection::new(client_config(own), name).unwrap(), stream)
        })
    }

    /// What a client is told that does not encrypt.
    fn refused(&mut self) -> String {
        let patience = std::time::Instant::now();
        loop {
            match Client::connect(&self.socket) {
                Ok(_) => panic!("the export was shown in the clear"),
                Err(why) if why.contains("was answered") => return why,
                Err(why) => assert!(patience.elapsed() < Duration::from_secs(60), "{why}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn what_is_encrypted_is_served_as_what_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = image(folder.path(), "page");
    let mut server = Server::start_with(&path, "tls");
    // With TLS_REQD.
    assert!(server.refused().contains("0x80000005"), "{}", server.refused());
    let mut client = server.encrypted_client(None).unwrap();
    let mut model = Model::new(&mut client);
    let mut rng = Pcg64Mcg::seed_from_u64(8);
    for _ in 0..400 {
        model.step(&mut client, &mut rng).unwrap();
    }
    // Many requests at once, and far more bytes than a record of TLS holds.
    let size = client.size();
    let mut data = vec![0; size as usize / 2];
    rng.fill(&mut data[..]);
    let (half, quarter) = (size / 2, size / 4);
    client.write(0, &data, false).unwrap();
    let asked: Vec<_> = (0..200)
        .map(|turn| {
            let offset = 512 * (turn % (quarter / 512));
            (client.ask((READ, 0), offset, quarter, &[]).unwrap(), offset)
        })
        .collect();
    client.ask((WRITE, 0), half, 512, &[7; 512]).unwrap();
    let mut answered = 0;
    for _ in 0..=asked.len() {
        let (cookie, errno, bytes) = client.answer().unwrap();
        assert_eq!(errno, 0);
        if let Some((_, offset)) = asked.iter().find(|(asked, _)| *asked == cookie) {
            assert!(bytes == data[*offset as usize..(offset + quarter) as usize], "at {offset}");
            answered += 1;
        }
    }
    assert_eq!(answered, asked.len());
    assert!(server.end().success());
    // The server's end is told apart from a connection that somebody has cut.
    let why = client.answer().unwrap_err();
    assert!(!why.contains("close_notify"), "{why}");
    let told = std::fs::read_to_string(path.with_extension("told")).unwrap();
    assert!(told.contains("nbds+unix:///?socket="), "{told}");
}

#[test]
fn only_clients_whose_certificate_is_signed_are_let_in() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_with(&image(folder.path(), "page"), "tls-verify");
    let mut client = server.encrypted_client(Some("client")).unwrap();
    client.write(0, &[1; 4096], true).unwrap();
    for own in [None, Some("stranger")] {
        let why = server.encrypted_client(own).err().expect("it has no certificate that counts");
        // It may be writing when the server hangs up, and not hear why.
        let refused = ["alert", "Broken pipe", "reset"].iter().any(|said| why.contains(said));
        assert!(refused, "{own:?}: {why}");
    }
    // The others were served all the time.
    let mut found = [0; 4096];
    client.read(0, &mut found).unwrap();
    assert_eq!(found, [1; 4096]);
}

/// Clients that say nonsense, half of a handshake, or nothing, and such as go without a farewell.
#[test]
fn clients_that_break_the_handshake_cost_nobody_else_anything() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_with(&image(folder.path(), "page"), "tls");
    let mut client = server.encrypted_client(None).unwrap();
    let begin = |said: &[u8]| {
        let mut stream = UnixStream::connect(&server.socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0").unwrap();
        let mut answer = [0; 20];
        stream.read_exact(&mut answer).unwrap();
        stream.write_all(said).unwrap();
        stream
    };
    let ends = |mut stream: UnixStream| {
        let mut rest = Vec::new();
        // However it is told: it ends.
        _ = stream.read_to_end(&mut rest);
        rest.len()
    };
    let hello = |long: u16| [&[22, 3, 1][..], &long.to_be_bytes(), &[1, 0, 0, 200, 3, 3]].concat();
    assert!(ends(begin(b"GET / HTTP/1.1\r\n\r\n")) < 100);
    assert!(ends(begin(&vec![0xff; 100_000])) < 100);
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for _ in 0..50 {
        let mut noise = vec![0; rng.random_range(1..2000)];
        rng.fill(&mut noise[..]);
        noise.splice(..0, hello(noise.len() as u16));
        let stream = begin(&noise);
        stream.shutdown(Shutdown::Write).unwrap();
        ends(stream);
    }
    let silent: Vec<_> = (0..20).map(|_| begin(&hello(200))).collect();
    // An encrypted connection that is cut in the middle.
    let mut cut = server.encrypted_client(None).unwrap();
    cut.ask((WRITE, 0), 8192, 4096, &[9; 4096]).unwrap();
    drop(cut);
    client.write(4096, &[2; 4096], true).unwrap();
    let mut found = [0; 4096];
    client.read(4096, &mut found).unwrap();
    assert_eq!(found, [2; 4096]);
    drop((client, silent));
    assert!(server.end().success());
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(folder.path(), "page");
    let said = |files: &[(&str, &str)], verify_peer| {
        let folder = tempfile::tempdir().unwrap();
        for (name, from) in files {
            std::fs::copy(certificates().join(from), folder.path().join(name)).unwrap();
        }
        let tls = Tls { folder: folder.path().to_owned(), verify_peer };
        let options = Options { tls: Some(tls), ..Options::at(Address::loopback(0)) };
        serve(&image, &options, || panic!("nothing is made"), |_| true).unwrap_err().to_string()
    };
    let (cert, key) =
        (("server-cert.pem", "server-cert.pem"), ("server-key.pem", "server-key.pem"));
    for (files, verify, file) in [
        (&[][..], false, "server-cert.pem: "),
        (&[cert], false, "server-key.pem: "),
        (&[cert, ("server-key.pem", "server-cert.pem")], false, "server-key.pem: "),
        (&[("server-cert.pem", "server-key.pem"), key], false, "server-cert.pem: "),
        (&[cert, ("server-key.pem", "client-key.pem")], false, "server-cert.pem: "),
        (&[cert, key], true, "ca-cert.pem: "),
    ] {
        let why = said(files, verify);
        assert!(why.contains(file), "{files:?}: {why}");
    }
}

/// Whoever can reach a port can read and write the drive: beyond this machine that has to be asked
/// for.
#[test]
fn other_machines_come_with_tls_or_where_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let image = image(folder.path(), "page");
    let said = |options: &Options| {
        let mut uri = None;
        let served = serve(
            &image,
            options,
            || true,
            |at| {
                uri = Some(at.uri.clone());
                false
            },
        );
        served.map(|_| uri.unwrap()).map_err(|why| why.to_string())
    };
    let at = |host: &str| Options::at(Address::Tcp(host.to_owned(), 0));
    let tls = Tls { folder: certificates(), verify_peer: false };
    let why = said(&at("0.0.0.0")).unwrap_err();
    assert!(why.contains("0.0.0.0 can be reached") && why.contains("--insecure"), "{why}");
    assert!(said(&at("::")).is_err());
    assert!(said(&at("127.0.0.1")).unwrap().starts_with("nbd://127.0.0.1:"));
    assert!(said(&at("localhost")).unwrap().starts_with("nbd://"));
    let insecure = Options { insecure: true, ..at("0.0.0.0") };
    assert!(said(&insecure).unwrap().starts_with("nbd://0.0.0.0:"));
    let encrypted = Options { tls: Some(tls), ..at("0.0.0.0") };
    assert!(said(&encrypted).unwrap().starts_with("nbds://0.0.0.0:"));
    let why = said(&at("nowhere.invalid")).unwrap_err();
    assert!(why.contains("nowhere.invalid:0: "), "{why}");
}
