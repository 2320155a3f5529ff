//! Somebody else at the address and port of a Gateway's listener.

use std::net::{IpAddr, SocketAddr};

use serde_json::Value;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, UdpSocket},
};

use super::{Tamper, TamperError, lock, read};
use crate::snapshot::{Kind, ObjectKey};

/// The address and port of a Gateway's listener.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The Gateway.
    pub gateway: ObjectKey,
    /// The object that has the listener, by kind, where that is another one.
    pub of: Option<(String, ObjectKey)>,
    /// The listener.
    pub listener: String,
    /// The port that it had, if it is none any more.
    pub had: Option<u16>,
}

impl Tamper {
    /// Takes connections at the address and port of a Gateway's listener, where nothing should, and says this and no more.
    ///
    /// # Errors
    /// If the Gateway has no such place, or something listens there.
    pub async fn occupy(&self, spot: &Spot, says: &'static [u8]) -> Result<(), TamperError> {
        let address = self.address(spot).await?;
        let socket = TcpListener::bind(address).await.map_err(|error| TamperError::Listen { address, error })?;
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((mut stream, _)) = socket.accept().await {
                let said = stream.write_all(says).await;
                tracing::debug!(?said, "a connection was taken");
                held.push(stream);
            }
        });
        lock(&self.0.tasks).push(task.abort_handle());
        Ok(())
    }

    /// Answers datagrams at the address and port of a Gateway's listener, where nothing should.
    ///
    /// # Errors
    /// If the Gateway has no such place, or something listens there.
    pub async fn occupy_datagrams(&self, spot: &Spot, says: &'static [u8]) -> Result<(), TamperError> {
        let address = self.address(spot).await?;
        let socket = UdpSocket::bind(address).await.map_err(|error| TamperError::Listen { address, error })?;
        let task = tokio::spawn(async move {
            let mut datagram = [0; 2048];
            while let Ok((_, from)) = socket.recv_from(&mut datagram).await {
                let said = socket.send_to(says, from).await;
                tracing::debug!(?said, "a datagram was answered");
            }
        });
        lock(&self.0.tasks).push(task.abort_handle());
        Ok(())
    }

    /// Where a listener is reached, or was.
    async fn address(&self, spot: &Spot) -> Result<SocketAddr, TamperError> {
        let Spot { gateway, of, listener, had } = spot;
        let kind = Kind::Gateway.name();
        let object = read(&self.api(kind, gateway).await?, kind, gateway).await?;
        let lacks =
            |what: &str| TamperError::Unreadable { what: format!("Gateway {gateway}"), why: format!("no {what}") };
        let address = object.pointer("/status/addresses/0/value").and_then(Value::as_str);
        let address: IpAddr = address.and_then(|text| text.parse().ok()).ok_or_else(|| lacks("address"))?;
        // Another object may have added the listener.
        let object = match of {
            Some((kind, of)) => read(&self.api(kind, of).await?, kind, of).await?,
            None => object,
        };
        let listeners = object.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
        let port = listeners.filter(|one| one["name"] == listener.as_str()).find_map(|one| one["port"].as_u64());
        let port = port.and_then(|port| u16::try_from(port).ok()).or(*had).ok_or_else(|| lacks("such listener"))?;
        let port = port.wrapping_add(self.place()?.port_offset.unwrap_or_default());
        Ok(SocketAddr::new(address, port))
    }
}
