import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { type OnGatewayConnection, WebSocketGateway } from '@nestjs/websockets';
import type { RawData, WebSocket } from 'ws';
import { qualifiedId } from '#rollcall/platform';
import {
  AgentsService,
  HeartbeatBatcher,
  type LeaseCredential,
  type LeasePolicy,
  nextIntervalMs,
} from '#rollcall/registry';
import { AuthGuard } from '../../auth/auth.guard.js';
import { type Principal, principalOf } from '../../auth/principal.js';
import { Permit } from '../../auth/route.access.js';
import { SocketAccess } from '../../auth/sockets/socket.access.js';
import { ApiError } from '../../http/problems/api.error.js';
import { FrameSocket } from '../../streams/frame.socket.js';
import { requiredOwner } from '../agent.credential.js';
import { AgentSocket, AgentSockets } from './agent.sockets.js';
import { readBeat, readCredential } from './beat.reader.js';
import { heartbeatPlan, LEASE_POLICY } from './heartbeat.js';

const AGENT_SOCKET = '/v1/agents/ws';

const MAX_FRAME_BYTES = 4_096;

/** Declares who may open the socket of an agent: the holder of its lease token, its owner, and operators. */
@Injectable()
export class AgentSocketAccess {
  constructor(access: SocketAccess, agents: AgentsService) {
    const check = async (request: URLSearchParams, principal: Principal): Promise<void> =>
      await agents.check(socketCredential(request, principal));
    access.declare(AGENT_SOCKET, { permission: 'agents:self', check });
  }
}

/**
 * The socket of an agent. The agent sends `beat`; the server sends `welcome`, `beaten`, `control`, `error` and `end`. Frames are
 * parsed here, because the message handlers of Nest would cost more than the heartbeat itself.
 */
@WebSocketGateway({ path: AGENT_SOCKET })
@Permit('agents:self')
export class AgentsGateway implements OnGatewayConnection<WebSocket> {
  private readonly log = new Logger('agents');

  constructor(
    private readonly agents: AgentsService,
    private readonly heartbeats: HeartbeatBatcher,
    private readonly sockets: AgentSockets,
    private readonly guard: AuthGuard,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  handleConnection(socket: WebSocket, request: IncomingMessage): void {
    const principal = principalOf(request);
    const { searchParams } = new URL(request.url ?? '/', 'ws://localhost');
    const agent = new AgentSocket(new FrameSocket(socket), socketCredential(searchParams, principal));
    socket.once('close', this.sockets.add(agent, principal));
    socket.on('message', (data, binary) => this.onFrame(agent, principal, binary ? undefined : data));
    void this.welcome(agent);
  }

  /** Reads the desired state after the socket was added, so that no change is missed: the event feed reports all later changes. */
  private async welcome(agent: AgentSocket): Promise<void> {
    try {
      const record = await this.agents.identify(agent.credential);
      agent.welcome(record, heartbeatPlan(this.lease));
      this.sockets.onWelcome(agent);
    } catch (error) {
      this.log.warn({ event: 'agents.welcome_failed', agentId: agent.credential.agentId, err: error });
      agent.sendError(error);
      if (agent.open)
        agent.end({ code: 'TRY_AGAIN', detail: 'The registration could not be read. Connect again later.' });
    }
  }

  private onFrame(agent: AgentSocket, principal: Principal, data: RawData | undefined): void {
    try {
      this.guard.allow(principal, 'agents:self');
      const { agentId, generation, tokenHash } = agent.credential;
      const beat = readBeat(agentId, { generation, ...readFrame(data) }, tokenHash);
      this.heartbeats.beat(beat, (result) => {
        agent.sendResult(result, nextIntervalMs(this.lease, Math.random()));
        this.sockets.onBeat(result);
      });
    } catch (error) {
      agent.sendError(error);
    }
  }
}

function socketCredential(request: URLSearchParams, principal: Principal): LeaseCredential {
  const credential = readCredential(request.get('agentId'), request.get('generation'), principal.leaseHash ?? null);
  const agentId = qualifiedId(principal.namespace, credential.agentId);
  return { ...credential, agentId, owner: requiredOwner(principal) };
}

/** Returns the data of a heartbeat. The data is optional: `{"event":"beat"}` is a complete frame. */
function readFrame(data: RawData | undefined): object {
  const frame = parse(data);
  const beat = frame?.data ?? {};
  if (frame?.event !== 'beat' || typeof beat !== 'object' || Array.isArray(beat))
    throw new ApiError(
      'MALFORMED_REQUEST',
      'Send frames as JSON text: {"event":"beat","data":{"inFlight":3}}. `data` is optional.',
    );
  return beat;
}

/** `ws` passes a text frame as one Buffer. A heartbeat is short, so a long frame is rejected without parsing. */
function parse(data: RawData | undefined): { event?: unknown; data?: unknown } | undefined {
  if (!data || (data as Buffer).length > MAX_FRAME_BYTES) return undefined;
  try {
    return JSON.parse((data as Buffer).toString()) as { event?: unknown; data?: unknown };
  } catch {
    return undefined; // the caller rejects the frame and states the format
  }
}
