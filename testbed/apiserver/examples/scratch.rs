//! scratch
#[tokio::main]
async fn main() {
    let crds: Vec<serde_json::Value> =
        std::env::args().skip(2).map(|p| serde_yaml::from_str(&std::fs::read_to_string(p).unwrap()).unwrap()).collect();
    let start = std::time::Instant::now();
    let server =
        gateproof_apiserver::Server::start(gateproof_apiserver::Options { crds, ..Default::default() }).await.unwrap();
    eprintln!("started in {:?}", start.elapsed());
    server.write_kubeconfig(std::path::Path::new(&std::env::args().nth(1).unwrap())).unwrap();
    tokio::signal::ctrl_c().await.unwrap();
    for r in server.requests() {
        println!("{r:?}");
    }
}
