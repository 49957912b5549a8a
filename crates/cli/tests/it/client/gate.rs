//! A proxy that knows where a request and its answer begin and end, and does harm at a step of the protocol: owns its
//! connections, guarantees that harm meets the request that it was meant for. Never changes a byte, it only withholds.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Which request is harmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// A page that is there.
    Page,
    /// A wait at the tail.
    Wait,
    /// Either.
    Read,
    /// An append.
    Append,
}

/// Where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The connection is there, and nothing was passed on.
    Connected,
    /// Half of the request's head was passed on.
    RequestHead,
    /// The request was passed on, and has no answer.
    Asked,
    /// The answer is there, and nothing of it was passed on.
    Answered,
    /// Half of the answer's head was passed on.
    AnswerHead,
    /// So many eighths of the answer's body were passed on: 0 is the head alone.
    Body(usize),
    /// All of the answer was passed on.
    Done,
}

/// What is done there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The connection is cut.
    Cut,
    /// It stays open and nothing passes any more.
    Stall,
    /// What is next waits until another request was answered, and goes then, whether anybody waits for it or not.
    Late,
}

pub type Harm = (Which, Step, How);

pub struct Gate {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    to: String,
    harms: Mutex<Vec<Harm>>,
    /// Requests that were answered.
    answered: watch::Sender<u64>,
    /// Late ones that have gone.
    late: Mutex<u64>,
}

/// Nothing further passes.
struct Over;

impl Gate {
    /// A proxy in front of this address, `http://HOST:PORT`.
    pub async fn start(endpoint: &str) -> Gate {
        let to = endpoint.strip_prefix("http://").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (harms, answered, late) = (Mutex::default(), watch::Sender::new(0), Mutex::default());
        let shared = Arc::new(Shared { to, harms, answered, late });
        let of_connections = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&of_connections);
                tokio::spawn(async move { drop(shared.serve(client).await) });
            }
        });
        Gate { address, shared, task }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Each harm meets one request, the next of its kind that none before it has met.
    pub fn plan(&self, harms: impl IntoIterator<Item = Harm>) {
        self.shared.harms.lock().unwrap().extend(harms);
    }

    /// Whether all that was planned was met.
    pub fn is_done(&self) -> bool {
        self.shared.harms.lock().unwrap().is_empty()
    }

    /// How many late ones have gone.
    pub fn late(&self) -> u64 {
        *self.shared.late.lock().unwrap()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// One request after the other.
    async fn serve(&self, client: TcpStream) -> Result<(), Over> {
        let mut client = Peer::new(client);
        let mut server: Option<Peer> = None;
        loop {
            let (head, body) = client.message(false).await?;
            let harm = self.harm_of(&String::from_utf8_lossy(&head));
            self.at(harm, Step::Connected).await?;
            if server.is_none() {
                server = Some(Peer::new(TcpStream::connect(&self.to).await.map_err(|_| Over)?));
            }
            let server = server.as_mut().ok_or(Over)?;
            server.write(&head[..head.len() / 2]).await?;
            self.at(harm, Step::RequestHead).await?;
            server.write(&head[head.len() / 2..]).await?;
            server.write(&body).await?;
            self.at(harm, Step::Asked).await?;
            let no_body = head.starts_with(b"HEAD");
            let (head, body) = server.message(no_body).await?;
            self.at(harm, Step::Answered).await?;
            // A late answer has reached the gate; that its client is gone is no matter.
            client.write(&head[..head.len() / 2]).await?;
            self.at(harm, Step::AnswerHead).await?;
            client.write(&head[head.len() / 2..]).await?;
            let mut passed = 0;
            for eighth in 0..8 {
                self.at(harm, Step::Body(eighth)).await?;
                let until = body.len() * (eighth + 1) / 8;
                client.write(&body[passed..until]).await?;
                passed = until;
            }
            self.answered.send_modify(|count| *count += 1);
            self.at(harm, Step::Done).await?;
        }
    }

    fn harm_of(&self, head: &str) -> Option<Harm> {
        let which = if head.starts_with("POST") {
            Which::Append
        } else if head.contains("live=long-poll") {
            Which::Wait
        } else if head.starts_with("GET") && head.contains("count=") {
            Which::Page
        } else {
            return None;
        };
        let mut harms = self.harms.lock().unwrap();
        let fits = |of: Which| of == which || (of == Which::Read && which != Which::Append);
        let at = harms.iter().position(|(of, ..)| fits(*of))?;
        Some(harms.remove(at))
    }

    async fn at(&self, harm: Option<Harm>, step: Step) -> Result<(), Over> {
        let Some((_, _, how)) = harm.filter(|(_, at, _)| *at == step) else { return Ok(()) };
        match how {
            How::Cut => Err(Over),
            How::Stall => std::future::pending().await,
            How::Late => {
                let mut answered = self.answered.subscribe();
                let before = *answered.borrow_and_update();
                // When nobody else is to come it goes all the same.
                let others = answered.wait_for(|count| *count > before);
                drop(tokio::time::timeout(Duration::from_secs(3), others).await);
                *self.late.lock().unwrap() += 1;
                Ok(())
            }
        }
    }
}

/// One end, and what came from it and was not used yet.
struct Peer {
    socket: TcpStream,
    unused: Vec<u8>,
}

impl Peer {
    fn new(socket: TcpStream) -> Peer {
        socket.set_nodelay(true).unwrap();
        Peer { socket, unused: Vec::new() }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Over> {
        self.socket.write_all(bytes).await.map_err(|_| Over)
    }

    async fn more(&mut self) -> Result<(), Over> {
        let read = self.socket.read_buf(&mut self.unused).await.map_err(|_| Over)?;
        if read == 0 { Err(Over) } else { Ok(()) }
    }

    /// Everything up to and with `end`, looked for from `from`.
    async fn until(&mut self, end: &[u8], from: usize) -> Result<usize, Over> {
        loop {
            if let Some(at) = self.unused[from..].windows(end.len()).position(|window| window == end) {
                return Ok(from + at + end.len());
            }
            self.more().await?;
        }
    }

    /// Head and body of the next message, as they came.
    async fn message(&mut self, no_body: bool) -> Result<(Vec<u8>, Vec<u8>), Over> {
        let end = self.until(b"\r\n\r\n", 0).await?;
        let head: Vec<u8> = self.unused.drain(..end).collect();
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = if no_body || text.starts_with("http/1.1 204") || text.starts_with("http/1.1 304") {
            0
        } else if text.contains("transfer-encoding: chunked") {
            self.chunks().await?
        } else {
            let value = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            value.map_or(0, |value| value.trim().parse().unwrap())
        };
        while self.unused.len() < length {
            self.more().await?;
        }
        Ok((head, self.unused.drain(..length).collect()))
    }

    /// The length of a body in chunks, all of which has come then.
    async fn chunks(&mut self) -> Result<usize, Over> {
        let mut at = 0;
        loop {
            let line = self.until(b"\r\n", at).await?;
            let size = String::from_utf8_lossy(&self.unused[at..line - 2]).into_owned();
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16).unwrap();
            at = line + size + 2;
            while self.unused.len() < at {
                self.more().await?;
            }
            if size == 0 {
                return Ok(at);
            }
        }
    }
}
