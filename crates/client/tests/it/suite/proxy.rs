//! A proxy on the way to a server: owns its connections, guarantees that a cut ends all of them at once. Never changes a byte.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub struct Proxy {
    pub address: SocketAddr,
    cuts: watch::Sender<u64>,
}

impl Proxy {
    /// A proxy in front of this `HOST:PORT`.
    pub async fn start(to: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (cuts, to) = (watch::Sender::new(0), to.to_owned());
        let subscribe = cuts.clone();
        tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let (mut cut, to) = (subscribe.subscribe(), to.clone());
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(to).await else { return };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Proxy { address, cuts }
    }

    /// Ends all connections there are.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}
