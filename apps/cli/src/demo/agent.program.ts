import { setTimeout as delay } from 'node:timers/promises';
import { type FollowedEvent, RollcallError, rollcallClient } from '#rollcall/client';

/**
 * An agent of the demo, as a process of its own: it registers, sends heartbeats, takes tasks, and bids for contracts. The demo configures
 * it with environment variables.
 */
const {
  ROLLCALL_URLS = '',
  ROLLCALL_KEY = '',
  AGENT_ID = 'agent',
  CAPABILITIES = 'work',
  PRICE = '0.02',
  WORK_MS = '500',
  CONFIRMS = 'yes',
} = process.env;
const stopping = new AbortController();
const { signal } = stopping;
let url = 0;
const urls = ROLLCALL_URLS.split(' ');
let rollcall = clientFor();
let generation = 0;
let leaseToken = '';
let inFlight = 0;

function clientFor(): ReturnType<typeof rollcallClient> {
  return rollcallClient({
    url: urls[url % urls.length] ?? '',
    credential: ROLLCALL_KEY,
    retries: 1,
    timeoutMs: 30_000,
  });
}

async function register(): Promise<void> {
  const registration = await rollcall.agents.register({
    agentId: AGENT_ID,
    name: AGENT_ID,
    takeover: true,
    capabilities: CAPABILITIES.split(','),
    work: 'pull',
    idempotent: true,
    capacity: 4,
    costModel: { usdPerTask: Number(PRICE) },
    labels: { team: 'demo' },
  });
  ({ generation, leaseToken } = registration);
}

/** Repeats after a lost replica, on the next one, and registers again when the registry has forgotten this agent. */
async function insist<Result>(call: () => Promise<Result>): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await call();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof RollcallError)) throw error;
      if (error.code === 'REGISTER_AGAIN' || error.code === 'LEASE_TOKEN_REFUSED' || error.status === 401)
        await insist(register);
      else if (error.status !== undefined && error.status < 500 && error.status !== 429)
        return undefined; // the task is not ours any more
      else {
        url += 1;
        rollcall = clientFor();
        await delay(200);
      }
    }
  }
  return undefined;
}

const own = (): typeof rollcall => rollcall.as(leaseToken);

async function beat(): Promise<void> {
  while (!signal.aborted) {
    const answer = await insist(async () => await own().agents.heartbeat(AGENT_ID, { generation, inFlight }));
    await delay(answer?.nextIntervalMs ?? 500, undefined, { signal }).catch(() => {}); // ends early when the agent leaves
  }
}

async function work(): Promise<void> {
  while (!signal.aborted) {
    const delivery = await insist(
      async () => await own().agents.takeTasks(AGENT_ID, { generation, waitMs: 10_000, holding: [] }, { signal }),
    );
    for (const { callId, text } of delivery?.tasks ?? []) {
      inFlight += 1;
      await delay(Number(WORK_MS));
      const answer = `${AGENT_ID} has finished: ${text}`;
      const usage = { inputTokens: text.length, outputTokens: answer.length };
      await insist(async () => await own().agents.reportResult(AGENT_ID, callId, { generation, text: answer, usage }));
      inFlight -= 1;
    }
    if (delivery === undefined) await delay(200);
  }
}

async function bid(): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of rollcall.follow({ types: ['contract.*'], signal }))
        if (event.type !== 'snapshot') await onContract(event);
    } catch (error) {
      if (signal.aborted || !(error instanceof RollcallError)) continue;
      url += 1;
      rollcall = clientFor();
      await delay(200);
    }
  }
}

async function onContract({ type, subject, data }: FollowedEvent): Promise<void> {
  if (type === 'dev.rollcall.contract.announced' && data.invited.includes(AGENT_ID)) {
    const offer = { agentId: AGENT_ID, generation, price: Number(PRICE) * 1_000_000, etaMs: 5_000, confidence: 0.9 };
    await insist(async () => await own().contracts.bid(subject, offer));
  }
  if (type === 'dev.rollcall.contract.awarded' && data.agentId === AGENT_ID && CONFIRMS === 'yes')
    await insist(async () => await own().contracts.confirm(subject, { agentId: AGENT_ID, generation }));
}

const leave = (): void => stopping.abort();
process.on('SIGTERM', leave).on('SIGINT', leave);
process.stdin.on('end', leave).resume(); // the demo has ended
await insist(register);
const jobs = [beat(), work(), bid()];
await Promise.race(jobs);
await own()
  .agents.deregister(AGENT_ID, { generation, reason: 'shutdown' }, { timeoutMs: 2_000 })
  .catch(() => {}); // the replicas may have stopped
process.exit();
