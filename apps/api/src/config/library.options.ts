import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type AgentRuntimeOptions, DEFAULT_BASH_OPTIONS, TOOL_ALIASES } from '#rollcall/agent-runtime';
import type { PlatformOptions } from '#rollcall/platform';
import { EgressPolicy, LangfuseUsage, type ProvidersOptions, Secret, type SecretSource } from '#rollcall/providers';
import {
  type BudgetSource,
  DEFAULT_LEASE_POLICY,
  DEFAULT_PROTECTION_POLICY,
  type LeasePolicy,
  leaseTtlMs,
  type RegistryOptions,
} from '#rollcall/registry';
import { EVENTS } from '../events/event.catalog.js';
import type { Plugins } from '../plugins/plugins.js';
import { quotaSetting } from './access.settings.js';
import { DEFAULT_AGENTS_FOLDER, DEFAULT_SKILL_FOLDERS } from './agents.settings.js';
import type { Config } from './config.schema.js';
import { aliasesOf } from './registry.settings.js';

type RunLimits = Pick<AgentRuntimeOptions, 'execution' | 'delegation'>;

/** The part of the time limit of the shutdown that is left for the parts of the process that stop after the runs. */
const STOP_MS = 5_000;
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

export function registryOptions(config: Config, plugins?: Plugins): RegistryOptions {
  const { budgets, quotas, protection, registry } = config;
  return {
    lease: leasePolicy(config),
    protection: { ...DEFAULT_PROTECTION_POLICY, ...protection },
    circuit: config.circuit,
    flap: config.flapping,
    directory: { aliases: aliasesOf(config.discovery) },
    budgets: {
      low: budgets.low,
      limits: budgets.limits,
      runDepth: budgets.runDepth,
      heldQuota: { limit: quotas.reservations, setting: quotaSetting('reservations') },
      share: { limit: quotas.budgetShare, setting: quotaSetting('budgetShare') },
    },
    ...(plugins && { strategies: plugins.registry.strategies }),
    contracts: {
      ...(plugins && { scoring: plugins.registry.scoring }),
      quota: { limit: quotas.contracts, setting: quotaSetting('contracts') },
    },
    agentQuota: { limit: quotas.agents, setting: quotaSetting('agents') },
    // two clocks, because only Date.now() continues while the machine sleeps
    follower: { staleMs: config.discovery.staleAfter, clocks: [() => performance.now(), () => Date.now()] },
    retention: {
      leftAgentsMs: registry.keepLeft,
      reservationsMs: budgets.keepReservations,
      linesMs: budgets.keepLedger,
      runsMs: budgets.keepRuns,
      contractsMs: registry.keepContracts,
    },
    usage: {
      sources: [...usageSources(config), ...(plugins?.registry.sources ?? [])],
      refreshEveryMs: config.langfuse.refreshEvery,
    },
  };
}

export function leasePolicy({ registry }: Config): LeasePolicy {
  return { ...DEFAULT_LEASE_POLICY, intervalMs: registry.heartbeatEvery, missesUntilEvicted: registry.missedBeats };
}

export function providersOptions(config: Config, secrets: SecretSource, plugins?: Plugins): ProvidersOptions {
  const { models, modelPrices: prices, providers: agents, runtime } = config;
  const egress = { ...egressRules(config), howToOpen: HOW_TO_OPEN };
  const { mcpServers } = runtime;
  return {
    egress,
    checkTimeoutMs: config.egress.checkTimeout,
    models,
    prices,
    agents,
    mcpServers,
    secrets,
    ...plugins?.providers,
  };
}

/** `http_fetch` calls loopback addresses only if the operator allows it, because other services of this machine trust such calls. */
export function runtimeOptions(config: Config): AgentRuntimeOptions {
  const { runtime, egress, quotas } = config;
  const { off, httpFetch, limits, aliases, bash } = runtime.tools;
  const { max: maxRunning, sharePerAgent, keep: keepMs, redactAfter: redactAfterMs } = runtime.runs;
  const { leaseMs, maxCrashesInStep } = runtime.runs;
  const unsafeDrainMs = Math.max(0, config.shutdown.timeout - STOP_MS);
  const maxRunningPerAgent = Math.max(1, Math.ceil(maxRunning * sharePerAgent));
  const queue = {
    perNamespace: { limit: quotas.queuedRunsOfNamespace, setting: quotaSetting('queuedRunsOfNamespace') },
    perCredential: { limit: quotas.queuedRuns, setting: quotaSetting('queuedRuns') },
  };
  const isUsed = (folder: string): boolean => !DEFAULT_SKILL_FOLDERS.includes(folder) || existsSync(folder);
  return {
    runs: {
      leaseMs,
      unsafeDrainMs,
      maxRunning,
      maxRunningPerAgent,
      queue,
      maxCrashesInStep,
      keepMs,
      redactAfterMs,
      now: Date.now,
    },
    skills: { folders: runtime.skills.filter(isUsed), watch: runtime.agentFiles.watch },
    lifecycle: lifecycleOptions(config),
    tools: {
      off,
      limits,
      aliases: { ...TOOL_ALIASES, ...aliases },
      httpFetch: { ...httpFetch, egress: { allow: egress.allow, howToOpen: HOW_TO_OPEN } },
      workspaces: { ...(runtime.workspaces !== undefined && { root: resolve(runtime.workspaces) }) },
      bash: { ...DEFAULT_BASH_OPTIONS, sandbox: bash },
    },
    ...runLimits(runtime),
    ...deploymentOptions(config),
  };
}

function lifecycleOptions(config: Config): AgentRuntimeOptions['lifecycle'] {
  const { lifecycle } = config.runtime;
  const lease = leasePolicy(config);
  const beatEveryMs = lease.intervalMs / 2;
  const hostLostMs = leaseTtlMs(lease) + beatEveryMs; // the registry evicts first, unless self-preservation prevents it
  const stopMs = Math.min(lifecycle.shutdownMs, config.shutdown.timeout / 2); // other parts of the process stop after the agents
  const shutdownMs = Math.min(lifecycle.shutdownMs, config.http.handlerTimeout * ANSWER_SHARE);
  return { ...lifecycle, beatEveryMs, hostLostMs, shutdownMs, stopMs };
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

function deploymentOptions({
  agents,
  agent,
  runtime,
  quotas,
}: Config): Pick<AgentRuntimeOptions, 'configured' | 'files' | 'revisionQuota'> {
  const { prefix, ...files } = runtime.agentFiles;
  const isUsed = files.folder !== DEFAULT_AGENTS_FOLDER || existsSync(files.folder);
  const revisionQuota = { limit: quotas.definitions, setting: quotaSetting('definitions') };
  return {
    configured: { agents, ...(agent && { agent }) },
    revisionQuota,
    ...(isUsed && { files: { ...files, prefixes: prefix === 'folder' } }),
  };
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
