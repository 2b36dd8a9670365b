import { openSocket, SocketClient } from './socket-client.js';

export interface Life {
  agentId: string;
  generation: number;
  leaseToken: string;
}

export const pathOf = ({ agentId, generation }: Pick<Life, 'agentId' | 'generation'>): string =>
  `/v1/agents/ws?agentId=${encodeURIComponent(agentId)}&generation=${generation}`;

/** An agent on its own socket. */
export class AgentClient extends SocketClient {
  static async connect(url: string, life: Life): Promise<AgentClient> {
    return await new AgentClient(openSocket(url, pathOf(life), { key: life.leaseToken })).opened();
  }
}
