import { DEFAULT_CIRCUIT_POLICY } from '#rollcall/registry';
import type { Role } from '../../apps/api/src/auth/permissions.js';
import type { Registration } from './agent-client.js';
import { type Answer, call, type CallOptions } from './call.js';

/** The body of a registration, and the state of the agent after it. */
export interface AgentSpec {
  circuit?: 'closed' | 'open';
  [field: string]: unknown;
}

export type GivenAgent = Registration & Record<string, unknown>;

type Call = (method: string, path: string, options: CallOptions) => Promise<Answer>;
type IssueKey = (...roles: Role[]) => Promise<string>;

/** A valid body for `POST /v1/agents`. */
export function registrationBody(overrides: object = {}): Record<string, unknown> {
  return { name: 'swarm-builder', capabilities: ['build'], ...overrides };
}

/**
 * Builders with valid defaults that use the API of one replica: a test states only what matters to it. They use the admin
 * key by default, and throw an error when the API rejects the request.
 */
export class Given {
  constructor(
    private readonly send: Call,
    /** Returns the secret of a new API key with these roles. */
    readonly key: IssueKey,
  ) {}

  /** Returns builders for a replica in another process. */
  static at(url: string, adminKey: string): Given {
    const callAt: Call = async (method, path, { key = adminKey, ...rest }) =>
      await call(url, method, path, { key, ...rest });
    return new Given(callAt, async (...roles) => {
      const body = { name: roles.join('+'), roles, ...(roles.includes('admin') && { namespace: '*' }) };
      return String((await succeeded(callAt('POST', '/v1/keys', { body })))['key']);
    });
  }

  async agent({ circuit = 'closed', ...overrides }: AgentSpec = {}, key?: string): Promise<GivenAgent> {
    const body = registrationBody(overrides);
    const agent = (await succeeded(this.send('POST', '/v1/agents', { key, body }))) as GivenAgent;
    if (circuit === 'open') await this.openCircuit(agent.agentId);
    return agent;
  }

  /** Creates a budget; by default of the namespace, with a limit of 1,000 tokens. */
  async budget(overrides: object = {}, namespace?: string): Promise<Record<string, unknown>> {
    const body = { kind: 'namespace', limit: { tokens: 1_000 }, ...overrides };
    const headers = namespace === undefined ? undefined : { 'rollcall-namespace': namespace };
    return await succeeded(this.send('POST', '/v1/budgets', { body, headers }));
  }

  async namespace(name: string): Promise<void> {
    await succeeded(this.send('POST', '/v1/namespaces', { body: { name } }));
  }

  /** Returns the secret of a new API key for this namespace. Its name is the namespace and the role. */
  async keyIn(namespace: string, role: Role): Promise<string> {
    const body = { name: `${namespace} ${role}`, roles: [role], namespace };
    return String((await succeeded(this.send('POST', '/v1/keys', { body })))['key']);
  }

  private async openCircuit(agentId: string): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(agentId)}/outcomes`;
    for (let failures = 0; failures < DEFAULT_CIRCUIT_POLICY.failuresToOpen; failures++)
      await succeeded(this.send('POST', path, { body: { ok: false } }));
  }
}

async function succeeded(answer: Promise<Answer>): Promise<Record<string, unknown>> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`the API answered ${status}: ${JSON.stringify(body)}`);
  return body;
}
