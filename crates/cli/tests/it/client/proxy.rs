//! A proxy between a client and a node that does harm: owns its connections, guarantees that each meets what was said for it.
//! Never changes a byte, it only withholds.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a connection meets.
#[derive(Clone, Copy, Debug)]
pub enum Harm {
    /// It is closed at once.
    Closed,
    /// It is cut when so many bytes went to the server.
    CutRequest(usize),
    /// It is cut when so many bytes came from the server.
    CutReply(usize),
    /// It stalls when so many bytes came from the server, and stays open.
    StallReply(usize),
    /// Nothing.
    None,
}

pub struct Proxy {
    address: SocketAddr,
    harms: Arc<Mutex<VecDeque<Harm>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of this address, `http://HOST:PORT`.
    pub async fn start(endpoint: &str) -> Proxy {
        let to = endpoint.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let harms = Arc::new(Mutex::new(VecDeque::new()));
        let planned = Arc::clone(&harms);
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let harm = planned.lock().unwrap().pop_front().unwrap_or(Harm::None);
                tokio::spawn(pass(client, to.clone(), harm));
            }
        });
        Proxy { address, harms, task }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the next connections meet, one each.
    pub fn plan(&self, harms: impl IntoIterator<Item = Harm>) {
        self.harms.lock().unwrap().extend(harms);
    }

    /// Whether all that was planned was met.
    pub fn is_done(&self) -> bool {
        self.harms.lock().unwrap().is_empty()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(client: TcpStream, to: String, harm: Harm) {
    if matches!(harm, Harm::Closed) {
        return;
    }
    let Ok(server) = TcpStream::connect(to).await else { return };
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let there = if let Harm::CutRequest(bytes) = harm { bytes } else { usize::MAX };
    let (back, stalls) = match harm {
        Harm::CutReply(bytes) => (bytes, false),
        Harm::StallReply(bytes) => (bytes, true),
        _ => (usize::MAX, false),
    };
    tokio::select! {
        () = copy(&mut from_client, &mut to_server, there, false) => {}
        () = copy(&mut from_server, &mut to_client, back, stalls) => {}
    }
}

/// Copies up to so many bytes; then it ends, or stays open for ever.
async fn copy(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    mut left: usize,
    stalls: bool,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        if left == 0 {
            if stalls {
                std::future::pending::<()>().await;
            }
            return;
        }
        let most = buffer.len().min(left);
        let Ok(count) = from.read(&mut buffer[..most]).await else { return };
        if count == 0 || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
        left -= count;
    }
}
