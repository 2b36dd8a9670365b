import type { IncomingMessage } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { type OnGatewayConnection, WebSocketGateway } from '@nestjs/websockets';
import type { RawData, WebSocket } from 'ws';
import { TaskInbox } from '#rollcall/agent-runtime';
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
import { parseJsonBody } from '../../http/body/json-body.parser.js';
import { ApiError } from '../../http/problems/api.error.js';
import { FrameSocket } from '../../streams/frame.socket.js';
import { requiredOwner } from '../agent.credential.js';
import { SocketWorker } from '../work/socket.worker.js';
import { WorkNotices } from '../work/work.notices.js';
import { AgentSocket, AgentSockets } from './agent.sockets.js';
import { readBeat, readCredential } from './beat.reader.js';
import { heartbeatPlan, LEASE_POLICY } from './heartbeat.js';

const AGENT_SOCKET = '/v1/agents/ws';

const MAX_BEAT_BYTES = 4_096;
const MAX_CALL_ID = 256;

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
 * The socket of an agent. The agent sends `beat`, and an agent that takes tasks also `work`, `progress` and `result`; the server sends
 * `welcome`, `beaten`, `task`, `reported`, `control`, `error` and `end`. Frames are parsed here, because the message handlers of Nest would cost more than the heartbeat itself.
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
    private readonly inbox: TaskInbox,
    private readonly notices: WorkNotices,
  ) {}

  handleConnection(socket: WebSocket, request: IncomingMessage): void {
    const principal = principalOf(request);
    const { searchParams } = new URL(request.url ?? '/', 'ws://localhost');
    const agent = new AgentSocket(new FrameSocket(socket), socketCredential(searchParams, principal));
    const client = new SocketClientState(agent, principal, this.inbox);
    socket.once('close', this.sockets.add(agent, principal));
    socket.once('close', () => client.close());
    socket.on('message', (data, binary) => this.onFrame(client, binary ? undefined : data));
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

  private onFrame(client: SocketClientState, data: RawData | undefined): void {
    const { agent } = client;
    try {
      this.guard.allow(client.principal, 'agents:self');
      const { agentId, generation, tokenHash } = agent.credential;
      const frame = readFrame(data);
      if (frame.event !== 'beat') return client.worker().accept(frame.event, frame.data);
      const beat = readBeat(agentId, { generation, ...frame.data }, tokenHash);
      this.heartbeats.beat(beat, (result) => {
        agent.sendResult(result, nextIntervalMs(this.lease, Math.random()), this.notices.of(agentId));
        this.sockets.onBeat(result);
      });
    } catch (error) {
      agent.sendError(error, taskIn(data));
    }
  }
}

function socketCredential(request: URLSearchParams, principal: Principal): LeaseCredential {
  const credential = readCredential(request.get('agentId'), request.get('generation'), principal.leaseHash ?? null);
  const agentId = qualifiedId(principal.namespace, credential.agentId);
  return { ...credential, agentId, owner: requiredOwner(principal) };
}

/** What is known about one connection. The worker is created by the first frame about work. */
class SocketClientState {
  private working?: SocketWorker;
  private remove?: () => void;

  constructor(
    readonly agent: AgentSocket,
    readonly principal: Principal,
    private readonly inbox: TaskInbox,
  ) {}

  worker(): SocketWorker {
    if (!this.working) {
      this.working = new SocketWorker(this.agent, this.inbox);
      this.remove = this.inbox.add(this.working);
    }
    return this.working;
  }

  close(): void {
    this.remove?.();
  }
}

type WorkEvent = 'work' | 'progress' | 'result';
type AgentFrame =
  { readonly event: 'beat'; readonly data: object } | { readonly event: WorkEvent; readonly data: unknown };

const WORK_EVENTS: ReadonlySet<unknown> = new Set<WorkEvent>(['work', 'progress', 'result']);

/** The data of a heartbeat is optional: `{"event":"beat"}` is a complete frame. A frame about work is checked like a body. */
function readFrame(data: RawData | undefined): AgentFrame {
  const frame = jsonIn(data);
  if (WORK_EVENTS.has(frame?.event)) return parseJsonBody(data as Buffer) as AgentFrame;
  const beat = frame?.data ?? {};
  const isBeat = frame?.event === 'beat' && typeof beat === 'object' && !Array.isArray(beat);
  if (isBeat && (data as Buffer).length > MAX_BEAT_BYTES)
    throw new ApiError('MALFORMED_REQUEST', `The frame of a heartbeat has at most ${MAX_BEAT_BYTES} bytes.`);
  if (!isBeat)
    throw new ApiError(
      'MALFORMED_REQUEST',
      'Send frames as JSON text: {"event":"beat","data":{"inFlight":3}}. `data` is optional. An agent that takes tasks also sends work, progress and result.',
    );
  return { event: 'beat', data: beat };
}

interface Frame {
  readonly event?: unknown;
  readonly data?: unknown;
}

/** `ws` passes a text frame as one Buffer. Returns undefined if it is not JSON. */
function jsonIn(data: RawData | undefined): Frame | null | undefined {
  try {
    return data && (JSON.parse((data as Buffer).toString()) as Frame | null);
  } catch {
    return undefined; // the caller rejects the frame and states the format
  }
}

/** The task that a rejected frame names. */
function taskIn(data: RawData | undefined): string | undefined {
  const about = jsonIn(data)?.data as { readonly callId?: unknown } | null | undefined;
  return typeof about?.callId === 'string' ? about.callId.slice(0, MAX_CALL_ID) : undefined;
}
