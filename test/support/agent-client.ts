import { openSocket, SocketClient } from './socket-client.js';

export interface Registration {
  agentId: string;
  generation: number;
  leaseToken: string;
}

export const pathOf = ({ agentId, generation }: Pick<Registration, 'agentId' | 'generation'>): string =>
  `/v1/agents/ws?agentId=${encodeURIComponent(agentId)}&generation=${generation}`;

/** An agent that is connected to `/v1/agents/ws`. */
export class AgentClient extends SocketClient {
  static async connect(url: string, registration: Registration): Promise<AgentClient> {
    return await new AgentClient(openSocket(url, pathOf(registration), { key: registration.leaseToken })).opened();
  }
}
