import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { AgentBuilder } from '../definitions/agent.builder.js';
import { DefinitionNotFoundError } from '../definitions/definition.errors.js';
import { type DefinitionKey, DefinitionsService } from '../definitions/definitions.service.js';
import { HostedAgent } from './hosted.agent.js';
import { type AgentUse, HostedAgents } from './hosted.agents.js';
import type { ShutdownDetail } from './shutdown.report.js';

const DRAIN_MS = 600_000;
const CLOSE_MS = 10_000;

/** The agents of this replica. A definition gets its agent on first use. */
@Injectable()
export class AgentHost extends HostedAgents {
  readonly replicaId = randomUUID();
  private readonly log = new Logger('agents');
  private readonly agents = new Map<string, HostedAgent>();

  constructor(
    private readonly definitions: DefinitionsService,
    private readonly builder: AgentBuilder,
  ) {
    super();
    definitions.onChanged((namespace, name) => this.agents.get(qualifiedId(namespace, name))?.renew());
  }

  async use(key: DefinitionKey): Promise<AgentUse> {
    const id = qualifiedId(key.namespace, key.name);
    const agent = this.agents.get(id) ?? this.add(key);
    try {
      return await agent.use();
    } catch (error) {
      if (error instanceof DefinitionNotFoundError && this.agents.get(id) === agent) this.agents.delete(id);
      throw error;
    }
  }

  async hostOf(_key: DefinitionKey): Promise<string | undefined> {
    return await Promise.resolve(undefined);
  }

  private add(key: DefinitionKey): HostedAgent {
    const { namespace, name } = key;
    const agent = new HostedAgent({
      name,
      blueprint: async () => await this.definitions.get(key),
      build: async (content) => await this.builder.build(name, content),
      drainMs: DRAIN_MS,
      closeMs: CLOSE_MS,
      onRetired: (detail) => this.logRetired(key, detail),
    });
    this.agents.set(qualifiedId(namespace, name), agent);
    return agent;
  }

  private logRetired({ namespace, name }: DefinitionKey, { error }: ShutdownDetail): void {
    if (error) this.log.warn({ event: 'agent.shutdown_failed', namespace, name, error: error.message });
    else this.log.log({ event: 'agent.shutdown', namespace, name });
  }
}
