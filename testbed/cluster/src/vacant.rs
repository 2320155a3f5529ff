//! A cluster on which nobody reconciles, with the definitions of whatever dialects: for implementations of somebody else's, side by side.

use gateproof_apiserver::Server;
use gateproof_arm::{Arm, ArmOptions};

use crate::{Service, Testbed, TestbedError, TestbedOptions, aso};

/// A running API server without an implementation. It ends with [`VacantTestbed::shutdown`] or when it is dropped.
pub struct VacantTestbed {
    testbed: Testbed,
    arm: Option<Arm>,
}

impl VacantTestbed {
    /// Starts one with the definitions of the options, and with a fake Azure Resource Manager beside it for an implementation of
    /// Azure Service Operator, if one is to come. It speaks TLS, as such implementations demand. Must run within a Tokio runtime.
    ///
    /// # Errors
    /// [`TestbedError`] names the part that did not start.
    pub async fn start(options: TestbedOptions, with_azure: bool) -> Result<VacantTestbed, TestbedError> {
        let testbed = Testbed::start(TestbedOptions { no_controller: true, ..options }).await?;
        let arm = match with_azure {
            true => Some(Arm::start(ArmOptions { tls: true, ..ArmOptions::default() }).await?),
            false => None,
        };
        Ok(VacantTestbed { testbed, arm })
    }

    /// The API server.
    pub fn server(&self) -> &Server {
        self.testbed.server()
    }

    /// The scripted services beside it.
    pub fn services(&self) -> Vec<Service> {
        self.arm.iter().map(aso::service).collect()
    }

    /// The variables with which an implementation uses the fake Azure Resource Manager, as of [`aso::AsoTestbed::environment`];
    /// nothing without one.
    pub fn environment(&self) -> Option<Vec<(&'static str, String)>> {
        self.arm.as_ref().map(aso::environment)
    }

    /// Stops everything.
    pub async fn shutdown(self) {
        if let Some(arm) = self.arm {
            arm.shutdown().await;
        }
        self.testbed.shutdown().await;
    }
}
