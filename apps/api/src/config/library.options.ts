import { existsSync } from 'node:fs';
import type { AgentRuntimeOptions } from '#rollcall/agent-runtime';
import type { PlatformOptions } from '#rollcall/platform';
import { EgressPolicy, LangfuseUsage, type ProvidersOptions, Secret, type SecretSource } from '#rollcall/providers';
import { type BudgetSource, leaseTtlMs, type RegistryOptions } from '#rollcall/registry';
import { EVENTS } from '../events/event.catalog.js';
import { DEFAULT_AGENTS_FOLDER } from './agents.settings.js';
import type { Config } from './config.schema.js';
import { registryPolicies } from './registry.policies.js';
import { DEFAULT_SKILL_FOLDERS } from './skills.settings.js';

type RunLimits = Pick<AgentRuntimeOptions, 'execution' | 'delegation'>;

/** The share of the time limit of a request that a shutdown may take, so that its report can still be sent. */
const ANSWER_SHARE = 0.8;
const HOW_TO_OPEN = 'with egress.allow (ROLLCALL_EGRESS_ALLOW)';

export function platformOptions({ events, webhooks }: Config, database: PlatformOptions['database']): PlatformOptions {
  return {
    database,
    catalog: EVENTS,
    events: { keepMs: events.keep, keepCount: events.keepCount },
    sinks: { keepDeliveriesMs: webhooks.keepDeliveries },
  };
}

export function registryOptions(config: Config): RegistryOptions {
  const { keepReservations, keepLedger, keepRuns } = config.budgets;
  return {
    ...registryPolicies(config),
    retention: {
      leftAgentsMs: config.registry.keepLeft,
      reservationsMs: keepReservations,
      linesMs: keepLedger,
      runsMs: keepRuns,
      contractsMs: config.registry.keepContracts,
    },
    usage: { sources: usageSources(config), refreshEveryMs: config.langfuse.refreshEvery },
  };
}

export function providersOptions(config: Config, secrets: SecretSource): ProvidersOptions {
  const { models, providers: agents, runtime } = config;
  const egress = { ...egressRules(config), howToOpen: HOW_TO_OPEN };
  const { mcpServers } = runtime;
  return { egress, checkTimeoutMs: config.egress.checkTimeout, models, agents, mcpServers, secrets };
}

/** `http_fetch` calls loopback addresses only if the operator allows it, because other services of this machine trust such calls. */
export function runtimeOptions(config: Config): AgentRuntimeOptions {
  const { runtime, egress } = config;
  const { off, httpFetch: mode, httpFetchHosts: hosts, timeout, maxInput, maxOutput } = runtime.tools;
  const { lease: leaseMs, max: maxRunning, maxPerAgent: maxRunningPerAgent, keep: keepMs } = runtime.runs;
  const { redactAfter: redactAfterMs, maxQueued, maxQueuedPerCredential, maxCrashes: maxCrashesInStep } = runtime.runs;
  const queue = {
    perNamespace: { limit: maxQueued, setting: 'ROLLCALL_RUNS_MAX_QUEUED' },
    perCredential: { limit: maxQueuedPerCredential, setting: 'ROLLCALL_RUNS_MAX_QUEUED_PER_CREDENTIAL' },
  };
  const isUsed = (folder: string): boolean => !DEFAULT_SKILL_FOLDERS.includes(folder) || existsSync(folder);
  return {
    runs: { leaseMs, maxRunning, maxRunningPerAgent, queue, maxCrashesInStep, keepMs, redactAfterMs, now: Date.now },
    skills: { folders: runtime.skills.filter(isUsed) },
    lifecycle: lifecycleOptions(config),
    tools: {
      off,
      limits: { defaultTimeoutMs: timeout, maxInputBytes: maxInput, maxOutputChars: maxOutput },
      httpFetch: { mode, hosts, egress: { allow: egress.allow, howToOpen: HOW_TO_OPEN } },
    },
    ...runLimits(runtime),
    ...deploymentOptions(config),
  };
}

function lifecycleOptions(config: Config): AgentRuntimeOptions['lifecycle'] {
  const { idleAfter, drainTimeout, shutdownTimeout } = config.runtime.lifecycle;
  const { lease } = registryPolicies(config);
  const beatEveryMs = lease.intervalMs / 2;
  const hostLostMs = leaseTtlMs(lease) + beatEveryMs; // the registry evicts first, unless self-preservation prevents it
  const stopMs = Math.min(shutdownTimeout, config.shutdown.timeout / 2); // other parts of the process stop after the agents
  const shutdownMs = Math.min(shutdownTimeout, config.http.handlerTimeout * ANSWER_SHARE);
  return { beatEveryMs, hostLostMs, idleMs: idleAfter, drainMs: drainTimeout, shutdownMs, stopMs };
}

function runLimits({ runTimeout, modelAttempts, modelRetryDelay, delegation }: Config['runtime']): RunLimits {
  const { maxDepth, maxWidth, maxRuns, childTimeout, inheritTools } = delegation;
  return {
    execution: { timeoutMs: runTimeout, retry: { maxAttempts: modelAttempts, maxDelayMs: modelRetryDelay } },
    delegation: {
      maxDelegationDepth: maxDepth,
      maxDelegationWidth: maxWidth,
      maxDelegatedRuns: maxRuns,
      childTimeoutMs: childTimeout,
      inheritance: inheritTools,
    },
  };
}

function deploymentOptions({ agents, agent, runtime }: Config): Pick<AgentRuntimeOptions, 'configured' | 'files'> {
  const { agentFiles: files } = runtime;
  const isUsed = files.folder !== DEFAULT_AGENTS_FOLDER || existsSync(files.folder);
  return { configured: { agents, ...(agent && { agent }) }, ...(isUsed && { files }) };
}

/** On an embedded database the deployment is one machine, so agents on loopback addresses may be called. */
function egressRules({ egress, database }: Config): ProvidersOptions['egress'] {
  return { allow: egress.allow, allowLoopback: !database.url };
}

function usageSources(config: Config): BudgetSource[] {
  const { baseUrl, publicKey, secretKey, agentField } = config.langfuse;
  if (publicKey === undefined || secretKey === undefined) return [];
  const policy = new EgressPolicy(egressRules(config));
  return [new LangfuseUsage({ baseUrl, publicKey, secretKey: new Secret(secretKey), agentField, policy })];
}
