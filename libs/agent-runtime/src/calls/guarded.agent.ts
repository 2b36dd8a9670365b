import { Injectable, Logger } from '@nestjs/common';
import {
  type Agent,
  type AgentConfig,
  type AgentEvent,
  type AgentMessage,
  AgentProviderRegistry,
  type AgentResult,
  type HandleOptions,
  ProviderError,
} from '#rollcall/providers';
import { CircuitService, type Reporter } from '#rollcall/registry';
import { PullAgent, type TaskOptions } from '../tasks/pull.agent.js';
import { TaskCalls } from '../tasks/task.calls.js';
import { WrappedAgent } from './wrapped.agent.js';

/** The reporter of the outcomes of Rollcall's own calls. */
const RUNTIME: Reporter = { id: 'system:runtime', name: 'runtime' };

interface GuardedAgentOptions {
  /** The id of the agent in the registry. */
  agentId: string;
  agent: Agent;
  circuits: Pick<CircuitService, 'admit' | 'reportLater' | 'returnProbe'>;
  /** Called when the outcome of a call could not be stored. The call itself is not affected. */
  onReportFailed(error: unknown): void;
}

/**
 * An agent with a circuit. A call starts only if the circuit admits it, and its outcome is reported to the circuit, which all replicas
 * share, without delaying the caller. Only failures of the agent itself count. A call that was cancelled, that failed because of the caller or
 * the operator, or whose events were not read to the end says nothing about the health of the agent, so it is neither a
 * success nor a failure. If that call was the probe, another caller may probe. Every result counts as a success, including
 * a refusal and a reached limit, but the latency of these two is ignored.
 */
export class GuardedAgent extends WrappedAgent {
  constructor(private readonly options: GuardedAgentOptions) {
    super(options.agent);
  }

  /** A call that began in an earlier execution of its run is not admitted again. */
  async *handle(message: AgentMessage, options?: TaskOptions): AsyncGenerator<AgentEvent> {
    const { agentId, circuits, onReportFailed } = this.options;
    const isAdmitted = options?.taskCall?.isResumed ?? options?.task !== undefined;
    const probeId = isAdmitted ? undefined : await circuits.admit(agentId, crypto.randomUUID());
    let ok: boolean | undefined;
    let isTimed = true;
    let latencyMs = 0; // excludes the time in which the caller processes events
    let since = performance.now();
    try {
      for await (const event of this.agent.handle(message, options)) {
        latencyMs += performance.now() - since;
        if (event.type === 'finished') {
          ok = true; // before the yield, because many callers stop reading at this event
          isTimed = isAnswer(event.result);
        }
        yield event;
        since = performance.now();
      }
    } catch (error) {
      latencyMs += performance.now() - since;
      if (isAgentFault(error)) ok = false;
      throw error;
    } finally {
      // neither is awaited: the caller does not wait for a statistic
      const outcome = ok !== undefined && { ok, latencyMs: isTimed ? latencyMs : undefined, probeId };
      if (outcome) circuits.reportLater(agentId, outcome, RUNTIME, onReportFailed);
      else if (probeId !== undefined) circuits.returnProbe(agentId, probeId, onReportFailed);
    }
  }
}

/** A refusal can be fast. If its latency counted, an agent that refuses everything would seem to be the fastest. */
function isAnswer({ outcome }: AgentResult): boolean {
  return outcome !== 'refused' && outcome !== 'stopped';
}

function isAgentFault(error: unknown): boolean {
  return error instanceof ProviderError && error.fault === 'remote';
}

/**
 * Creates the agent with the first call. If the creation fails, the call fails, and a circuit around this agent counts the failure. The
 * next call tries again.
 */
class LazyAgent implements Agent {
  private created?: Promise<Agent>;
  private current?: Agent;
  private isClosed = false;

  constructor(
    readonly name: string,
    readonly agentType: Agent['agentType'],
    private readonly create: () => Promise<Agent>,
  ) {}

  get state(): Agent['state'] {
    return this.current?.state ?? (this.isClosed ? 'closed' : 'idle');
  }

  async *handle(message: AgentMessage, options?: HandleOptions): AsyncGenerator<AgentEvent> {
    const agent = await this.agent();
    yield* agent.handle(message, options);
  }

  async shutdown(): Promise<void> {
    this.isClosed = true;
    await (await this.created?.catch(() => undefined))?.shutdown();
  }

  private async agent(): Promise<Agent> {
    this.created ??= this.create().catch((error: unknown) => {
      this.created = undefined;
      throw error;
    });
    this.current = await this.created;
    if (this.isClosed) await this.current.shutdown(); // the call then fails with AGENT_CLOSED
    return this.current;
  }
}

/** Creates agents that are called through the circuit of their `agentId`. */
@Injectable()
export class GuardedAgents {
  private readonly log = new Logger('agents');

  constructor(
    private readonly providers: AgentProviderRegistry,
    private readonly circuits: CircuitService,
    private readonly tasks: TaskCalls,
  ) {}

  async create(agentId: string, provider: string, config: AgentConfig): Promise<GuardedAgent> {
    return this.guarded(agentId, await this.providers.get(provider).createAgent(config));
  }

  /** Like `create`, but the agent is created by its first call, and a failed creation counts for the circuit. */
  createLazily(agentId: string, provider: string, config: AgentConfig): GuardedAgent {
    const { agentType } = this.providers.get(provider);
    const create = async (): Promise<Agent> => await this.providers.get(provider).createAgent(config);
    return this.guarded(agentId, new LazyAgent(config.name, agentType, create));
  }

  /** An agent that takes its tasks. */
  createPulling(agentId: string): GuardedAgent {
    return this.guarded(agentId, new PullAgent(agentId, this.tasks));
  }

  private guarded(agentId: string, agent: Agent): GuardedAgent {
    const onReportFailed = (error: unknown): void =>
      this.log.warn({ event: 'agents.outcome_lost', agentId, err: error });
    return new GuardedAgent({ agentId, agent, circuits: this.circuits, onReportFailed });
  }
}
