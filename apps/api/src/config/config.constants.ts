import {
  DEFAULT_LIFECYCLE_OPTIONS,
  DEFAULT_RUNS_OPTIONS,
  DEFAULT_TOOLS_OPTIONS,
  DEFAULT_TREE_LIMITS,
} from '#rollcall/agent-runtime';
import { DEFAULT_RESERVED_POOL_SIZE, STATEMENTS_PER_TRANSACTION } from '#rollcall/platform';
import {
  DEFAULT_CIRCUIT_POLICY,
  DEFAULT_FLAP_POLICY,
  DEFAULT_FOLLOWER_OPTIONS,
  DEFAULT_LOW_BUDGET,
  DEFAULT_PROTECTION_POLICY,
  DEFAULT_SPENDING_LIMITS,
} from '#rollcall/registry';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/**
 * The values that no operator can choose better than we can: they depend on how Rollcall works, not on where it runs. They are no
 * settings, so they are read from no file and no variable. Each has its reason here, or in the library whose default it is.
 * `loadConfig` adds them to the settings, so that code reads both from one object. A test that needs other values passes them:
 * `loadConfig(environment, folder, { events: { slowAfter: 1_000 } })`, `startApi({}, { constants: … })`.
 */
export const CONSTANTS = {
  http: {
    /** How long a client may take to send its request. A slower client is more likely an attack than a slow network. */
    requestTimeout: 30 * SECOND,
    /** How long the processing of a request may take: longer than each transaction, shorter than the timeouts of proxies (60s). */
    handlerTimeout: 15 * SECOND,
    /** Requests of one credential that wait for runs on a replica. A wait costs a socket and a timer, but no database connection. */
    concurrentWaits: 1_000,
    /** Requests of one address without a verified credential: enough for a fleet behind one address that reconnects at once. */
    concurrentUnauthenticated: 250,
  },
  database: {
    /** Connections for heartbeats, sweeps, the event feed, readiness and checks of known API keys. Each is used for short statements only. */
    reservedPoolSize: DEFAULT_RESERVED_POOL_SIZE,
    /** A transaction may take as long as this many statements, and at most `http.handlerTimeout`. */
    transactionFactor: STATEMENTS_PER_TRANSACTION,
    /** After three consecutive round trips above this, the replica is not ready: a replica nearer to the database serves faster. */
    slowRoundTrip: 500,
    /** How long a start waits for Postgres, which often starts at the same time. After it, the orchestrator starts the process again. */
    connectWait: 30 * SECOND,
  },
  auth: {
    /** All asymmetric algorithms. With a shared secret, every verifier could also sign tokens. */
    oidcAlgorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
    /** The usual name of this claim. Issuers can be configured to use it. */
    oidcGroupsClaim: 'groups',
  },
  events: {
    /** Bounds the table, independent of the age of the events. A namespace can have a lower limit. */
    keepCount: 1_000_000,
    /** The send buffer of one consumer: about a thousand events, so that 1,000 slow consumers need 1 GB at most. */
    buffer: 1_024 * 1_024,
    /** How long the send buffer may stay full. A consumer that resumes later loses nothing, because it has a cursor. */
    slowAfter: 10 * SECOND,
  },
  registry: {
    /** As long as events are kept by default, so that the record of an agent can be read while its `agent.left` can be. */
    keepLeft: 7 * DAY,
    /** The reliability of a bidder is learned from its contracts of this time. */
    keepContracts: 30 * DAY,
  },
  discovery: { staleAfter: DEFAULT_FOLLOWER_OPTIONS.staleMs },
  circuit: DEFAULT_CIRCUIT_POLICY,
  protection: {
    threshold: DEFAULT_PROTECTION_POLICY.threshold,
    fewest: DEFAULT_PROTECTION_POLICY.fewest,
    longestMs: DEFAULT_PROTECTION_POLICY.longestMs,
    evictionsPerMinute: DEFAULT_PROTECTION_POLICY.evictionsPerMinute,
  },
  flapping: DEFAULT_FLAP_POLICY,
  budgets: {
    low: DEFAULT_LOW_BUDGET,
    limits: DEFAULT_SPENDING_LIMITS,
    /** Levels of a tree of runs. Each reservation locks the budgets of all runs above it. */
    runDepth: 34, // a root, 32 levels of delegation, and the run of the winner of an auction
    /** How long a repeated reservation or settlement gets the same response. */
    keepReservations: 7 * DAY,
    /** A quarter: how long a report of past runs can explain what they cost. */
    keepRuns: 90 * DAY,
  },
  egress: {
    /** Time to check all host names of one batch of registrations. It leaves time to register within `http.handlerTimeout`. */
    checkTimeout: 10 * SECOND,
  },
  runtime: {
    tools: { limits: DEFAULT_TOOLS_OPTIONS.limits },
    lifecycle: {
      idleMs: DEFAULT_LIFECYCLE_OPTIONS.idleMs,
      drainMs: DEFAULT_LIFECYCLE_OPTIONS.drainMs,
      shutdownMs: DEFAULT_LIFECYCLE_OPTIONS.shutdownMs,
    },
    /** A vendor's temporary error usually ends within two attempts. Each attempt is charged, so there is no fourth. */
    modelAttempts: 3,
    /** If a vendor asks for a longer delay, the call fails: the caller can wait better than a run that holds a slot. */
    modelRetryDelay: 30 * SECOND,
    delegation: {
      ...DEFAULT_TREE_LIMITS,
      /** A delegated run has the time limit of a run by default, and never more time than the run that delegates. */
      childTimeout: 10 * MINUTE,
    },
    runs: {
      leaseMs: DEFAULT_RUNS_OPTIONS.leaseMs,
      maxCrashesInStep: DEFAULT_RUNS_OPTIONS.maxCrashesInStep,
      /** The part of `ROLLCALL_RUNS_MAX` that the runs of one agent may use: a busy agent leaves places for the others. */
      sharePerAgent: 0.5,
    },
  },
  catalog: {
    /** The public catalogs are computed at most once in this time, however many requests arrive. */
    refresh: SECOND,
  },
  langfuse: {
    /** The field that contains the agentId. A trace is one call of an agent, and its observations have names of their own. */
    agentField: 'traceName' as const,
  },
  mcp: {
    /** How long a tool call waits for its run: shorter than the timeout of clients and proxies, usually 60s. */
    wait: 45 * SECOND,
    /** Subscriptions of all clients of a replica. Each change is matched against all of them. */
    subscriptions: 1_000,
  },
  pluginLimits: {
    /** Plugins are loaded one after the other, and orchestrators wait about a minute for a start. */
    loadMs: 10 * SECOND,
    /** A check is part of each run, and its caller waits. */
    guardrailMs: 10 * SECOND,
    /** A delivery is repeated, so a longer limit gains nothing. */
    callMs: 30 * SECOND,
  },
  webhooks: {
    /** With the delays below, a receiver may be unavailable for about 25 minutes before its deliveries are parked. */
    tries: 12,
    retryFirst: SECOND,
    retryLongest: 15 * MINUTE,
    /** How long a receiver may take to respond. It should store the event, respond, and process it later. */
    timeout: 10 * SECOND,
    /** Successful deliveries are kept for questions about a recent event; failed ones are kept ten times as long. */
    keepDeliveries: 3 * DAY,
  },
};

export type Constants = typeof CONSTANTS;

type Changes<T> = T extends object ? { [Key in keyof T]?: Changes<T[Key]> } : T;

/** Constants that differ from `CONSTANTS`. */
export type ConstantChanges = Changes<Constants>;
