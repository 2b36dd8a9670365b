import { HOOK, type Target, type TargetKind } from './access-matrix.js';
import type { TestApi } from './api.js';
import { registrationBody } from './given.js';

/** Creates the objects that the paths of routes name. */
export class AccessTargets {
  private made = 10; // two digits from the start, so that all names have the same length

  /** A reservation needs an agent, and a run needs a definition. `agentKeyFor` returns the key that creates them. */
  constructor(
    private readonly api: TestApi,
    private readonly agentKeyFor: (key: string) => string = (key) => key,
  ) {}

  /** Creates an object with the key, and returns what a route needs to name it. */
  async make(kind: TargetKind, key: string): Promise<Target> {
    const name = `t-${(this.made += 1)}`;
    switch (kind) {
      case 'agent': {
        const { leaseToken } = await this.post('/v1/agents', key, registrationBody({ agentId: name }));
        return { id: name, leaseToken: String(leaseToken) };
      }
      case 'budget':
        return idOf(await this.post('/v1/budgets', key, { kind: 'agent', subject: name, limit: { tokens: 1_000 } }));
      case 'contract':
        return await this.contract(name, key);
      case 'conversation': {
        const { id: definition } = await this.make('definition', this.agentKeyFor(key));
        await this.post('/v1/runs', key, { definition, input: 'Hello.', conversationId: name });
        return { id: name };
      }
      case 'definition':
        await this.post('/v1/definitions', key, { name, content: { description: 'Reviews code.' } });
        return { id: name };
      case 'hosted':
        await this.post('/v1/runtime/agents', key, { name, content: { description: 'Reviews code.' } });
        return { id: name };
      case 'key':
        return idOf(await this.post('/v1/keys', key, { name, roles: ['viewer'] }));
      case 'namespace':
        await this.api.call('POST', '/v1/namespaces', { body: { name } });
        return { id: name };
      case 'reservation': {
        const { id: agentId } = await this.make('agent', this.agentKeyFor(key));
        await this.post('/v1/budgets/reservations', key, { key: name, agentId, tokens: 1 });
        return { id: name };
      }
      case 'run': {
        const { id: definition } = await this.make('definition', this.agentKeyFor(key));
        return { ...idOf(await this.post('/v1/runs', key, { definition, input: 'Hello.' })), agentId: definition };
      }
      case 'webhook':
        return idOf(await this.post('/v1/webhooks', key, { url: HOOK }));
      case 'worker':
        return await this.worker(name, key);
      case 'delivery':
        return await this.delivery(key);
    }
  }

  /** A contract with one invited agent. If the key cannot announce a contract, an admin announces it. */
  private async contract(agentId: string, key: string): Promise<Target> {
    const agent = registrationBody({ agentId, capabilities: [agentId] });
    const { leaseToken } = await this.post('/v1/agents', this.agentKeyFor(key), agent);
    const body = { capabilities: [agentId], task: 'Build.', bidWithinMs: 600_000 };
    const own = await this.api.call('POST', '/v1/contracts', { key, body });
    const { body: record } = await this.api.call('GET', `/v1/agents/${agentId}`, { key });
    const headers = { 'rollcall-namespace': String(record['namespace']) };
    const answer = own.status === 403 ? await this.api.call('POST', '/v1/contracts', { headers, body }) : own;
    return { ...idOf(answer.body), agentId, leaseToken: String(leaseToken) };
  }

  /** An agent with a task that it has taken. Both have the same id. */
  private async worker(agentId: string, key: string): Promise<Target> {
    const { leaseToken } = await this.post('/v1/agents', key, registrationBody({ agentId, work: 'pull' }));
    await this.api.database.db.query(
      `INSERT INTO agent_task (call_id, run_id, agent_id, idempotent, state, generation, content)
       SELECT $1, $1, agent_id, false, 'taken', 1, '{}' FROM agent WHERE agent_id IN ($1, $2)`,
      [agentId, `${await this.namespaceOf(agentId, key)}/${agentId}`],
    );
    return { id: agentId, leaseToken: String(leaseToken) };
  }

  private async namespaceOf(agentId: string, key: string): Promise<string> {
    return String((await this.api.call('GET', `/v1/agents/${agentId}`, { key })).body['namespace']);
  }

  private async delivery(key: string): Promise<Target> {
    const target = idOf(await this.post('/v1/webhooks', key, { url: HOOK }));
    await this.api.database.db.query(
      `INSERT INTO event_delivery (sink_id, seq, state, attempts, event_id, type, subject, took_ms)
       VALUES ($1, 1, 'parked', 1, gen_random_uuid(), 'agent.joined', 'a', 1)`,
      [target.id],
    );
    return { ...target, sequence: '1' };
  }

  private async post(path: string, key: string, body: object): Promise<Record<string, unknown>> {
    const answer = await this.api.call('POST', path, { key, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

const idOf = (body: Record<string, unknown>): Target => ({ id: String(body['id']) });

/** The path of a route for this object, without a query. */
export function pathTo(pattern: string, { id, sequence = '1', agentId = id }: Target): string {
  return pattern
    .replace(/:(agentId|tenant)\b/, agentId)
    .replace('(^[^:/]+)', '')
    .replace('::', ':')
    .replace(/:(id|name|key)\b/, id)
    .replace(':callId', id)
    .replace(':sequence', sequence)
    .replace(':revision', '1');
}
