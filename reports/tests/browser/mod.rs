//! A headless Chromium, driven by what of its DevTools protocol a test of a page needs.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, MutexGuard};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Says outside of the capture of tests that a check was left out, for CI to count.
fn skipped(name: &str, why: &str) {
    // `eprintln!` would be captured.
    std::io::stderr().write_all(format!("skipped: {name}: {why}\n").as_bytes()).unwrap();
}

fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

/// One at a time: several make each other late.
static TURN: Mutex<()> = Mutex::const_new(());

/// A process that ends with its owner, by a panic too.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A browser with one page. What is first in it is dropped first: the process has ended before its folder goes and another one begins.
pub struct Browser {
    _process: Running,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    sent: u64,
    /// What the page complained of.
    pub complaints: Vec<String>,
    /// Pages that are to be opened, the profile, and whatever else the browser writes.
    pub dir: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts one; nothing if there is none here, which it says.
    pub async fn start() -> Option<Browser> {
        let Some(program) = chromium() else {
            skipped("chromium", "there is no Chromium");
            return None;
        };
        let turn = TURN.lock().await;
        let dir = tempfile::tempdir().unwrap();
        let profile = dir.path().join("profile");
        let process = Command::new(program)
            .env("TMPDIR", dir.path())
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--remote-debugging-port=0", "--hide-scrollbars", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let process = Running(process);
        let place = place(&profile.join("DevToolsActivePort")).await;
        let (socket, _) = connect_async(place).await.unwrap();
        let mut browser =
            Browser { _process: process, socket, session: None, sent: 0, complaints: Vec::new(), dir, _turn: turn };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        Some(browser)
    }

    /// Asks something of the browser, and notes what the page complains of meanwhile.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("the browser answers");
            let Message::Text(text) = next.unwrap().unwrap() else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == json!(self.sent) {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            let params = &answer["params"];
            match answer["method"].as_str() {
                Some("Runtime.consoleAPICalled") => self.complaints.push(params["args"].to_string()),
                Some("Runtime.exceptionThrown") => self.complaints.push(params["exceptionDetails"].to_string()),
                Some("Log.entryAdded") => self.complaints.push(params["entry"].to_string()),
                _ => {}
            }
        }
    }

    /// Opens a page that is written to disk first, with what comes behind `#`.
    pub async fn open(&mut self, page: &str, hash: &str) {
        self.call("Page.navigate", json!({"url": "about:blank"})).await;
        let file = self.dir.path().join("report.html");
        std::fs::write(&file, page).unwrap();
        self.call("Page.navigate", json!({"url": format!("file://{}#{hash}", file.display())})).await;
        self.until("document.readyState === 'complete' && globalThis.gateproof !== undefined").await;
    }

    /// What an expression comes to.
    pub async fn value(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", ask).await;
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// A text of the page.
    pub async fn text(&mut self, selector: &str) -> String {
        let found = self.value(&format!("document.querySelector({})?.innerText ?? ''", json!(selector))).await;
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until an expression is true.
    pub async fn until(&mut self, expression: &str) {
        let end = Instant::now() + PATIENCE;
        while self.value(expression).await != json!(true) {
            assert!(Instant::now() < end, "never: {expression}; complaints: {:?}", self.complaints);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Presses a key.
    pub async fn key(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut press = json!({"type": "keyDown", "key": key, "windowsVirtualKeyCode": code});
        if code == 0 {
            press["text"] = json!(key);
        } else if key == "Enter" {
            press["text"] = json!("\r");
        }
        self.call("Input.dispatchKeyEvent", press).await;
        let lift = json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", lift).await;
    }

    /// As wide and high as a screen is.
    pub async fn screen(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// `light` or `dark`, as the system has it.
    pub async fn theme(&mut self, theme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// A picture for people, where `GATEPROOF_SCREENSHOTS` names a folder.
    pub async fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("GATEPROOF_SCREENSHOTS") else { return };
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"})).await;
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }
}

/// Where a browser that has just been started is listening.
async fn place(file: &Path) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some((port, path)) = text.split_once('\n').filter(|(_, path)| !path.is_empty()) {
            return format!("ws://127.0.0.1:{port}{path}");
        }
        assert!(Instant::now() < end, "Chromium does not start");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
