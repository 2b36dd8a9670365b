import type { Provider } from '@nestjs/common';
import { ContractRuns } from './contract.runs.js';
import { ContractTargets } from './contract.targets.js';
import { EndpointInviter } from './endpoint.inviter.js';
import { HostedInviter } from './hosted.inviter.js';

/** What the contract net needs of the runtime: delivery to agents, and runs of winners. */
export const CONTRACTS: Provider[] = [HostedInviter, EndpointInviter, ContractRuns, ContractTargets];
