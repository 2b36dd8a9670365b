import type { Provider } from '@nestjs/common';
import { ContractRuns } from './contract.runs.js';
import { ContractTargets } from './contract.targets.js';
import { EndpointInviter } from './endpoint.inviter.js';
import { HostedInviter } from './hosted.inviter.js';
import { RemoteAgents } from './remote.agents.js';
import { RunnableAgents } from './runnable.agents.js';
import { WinnerConnector } from './winner.connector.js';

/** What the contract net needs from the runtime: delivery to agents, and runs of winners. */
export const CONTRACTS: Provider[] = [
  HostedInviter,
  EndpointInviter,
  RunnableAgents,
  ContractRuns,
  RemoteAgents,
  WinnerConnector,
  ContractTargets,
];
