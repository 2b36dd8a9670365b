import { type ModelRequest, textOfParts, textPart } from '#rollcall/providers';
import { callTool, failWith, hangAfter, say, using } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import type { Run, StartRun } from '../runs/run.js';
import { ended, keyOf, RunsWorld, typesOf, USED } from '../testing/runs.world.js';
import type { TestRuns } from '../testing/test-runs.js';
import { defineTool } from '../tools/tool.js';

const BY = 'key:test';
const OWNER = { by: BY, mayManage: false };
const TALK = { namespace: 'default', startedBy: BY, by: BY, id: 'talk' };

/** The messages that the model got, without those that describe the agent. */
const heardBy = ({ messages }: ModelRequest): string[] =>
  messages.flatMap((message) =>
    message.role === 'system' ? [] : message.content.map((part) => ('text' in part ? part.text : part.type)),
  );

/** Answers with the texts that the model got. Some inputs let the model do something else first. */
function memory(): (request: ModelRequest) => ReturnType<typeof say> {
  let hangs = 1;
  return (request) => {
    const heard = heardBy(request);
    const last = heard.at(-1) ?? '';
    if (last === 'fail') return failWith(400);
    if (last === 'spend') return using(USED, callTool('spend', {}, 'call-1'));
    if (last === 'hang' && hangs-- > 0) return hangAfter('hm');
    return using(USED, say(`(${heard.filter((text) => !text.startsWith('(')).join(' ')})`));
  };
}

let world: RunsWorld;
beforeEach(async () => {
  world = await RunsWorld.create();
  const spend = defineTool({
    name: 'spend',
    description: 'Spends.',
    needsApproval: true,
    execute: async () => await Promise.resolve('spent'),
  });
  for (const name of ['clerk', 'guard'])
    world.agents.defined.set(name, { script: memory(), tools: [spend], options: {} });
});
afterEach(async () => await world.end());

async function send(on: TestRuns, text: string, more: Partial<StartRun> = {}, definition = 'clerk'): Promise<Run> {
  const message = { namespace: 'default', target: { definition }, input: [textPart(text)], by: BY };
  return await on.runs.start({ ...message, conversationId: 'talk', ...more });
}

const answerOf = async (on: TestRuns, run: Run): Promise<string> =>
  textOfParts((await ended(on, run)).result?.parts ?? []);
const stateOf = async (on: TestRuns, run: Run): Promise<string> => (await on.reader.get(keyOf(run))).state;

/** The times of the runs of a conversation, in the order in which they were started. */
async function timesOf(id = 'talk'): Promise<{ begins: Date; ends: Date; text: string }[]> {
  return await world.database.db.query(
    `SELECT started_at AS begins, finished_at AS ends, input -> 0 ->> 'text' AS text FROM run WHERE conversation_id = $1 ORDER BY seq`,
    [id],
  );
}

describe('a run of a conversation', () => {
  it('S2.10 begins with the messages of the earlier runs on the same agent, on any replica', async () => {
    const both = [await world.replica(), await world.replica()] as const;
    expect(await answerOf(both[0], await send(both[0], 'one'))).toBe('(one)');
    expect(await answerOf(both[1], await send(both[1], 'two'))).toBe('(one two)');
    expect(await answerOf(both[0], await send(both[0], 'other', {}, 'guard'))).toBe('(other)');
    await world.stop(both[1]);
    const third = await world.replica();
    expect(await answerOf(third, await send(third, 'three'))).toBe('(one two three)');
  });

  it('S2.10 knows nothing of another principal, of another conversation, and of runs without one', async () => {
    const one = await world.replica();
    await ended(one, await send(one, 'mine'));
    await ended(one, await send(one, 'theirs', { by: 'key:other' }));
    await ended(one, await send(one, 'elsewhere', { conversationId: 'other' }));
    await ended(one, await send(one, 'alone', { conversationId: undefined }));
    expect(await answerOf(one, await send(one, 'again'))).toBe('(mine again)');
    expect(await answerOf(one, await send(one, 'again', { by: 'key:other' }))).toBe('(theirs again)');
    const listed = await one.conversations.list({ namespace: 'default', startedBy: BY }, 10);
    expect(listed.map(({ id, runs, openRuns, agentId }) => [id, runs, openRuns, agentId])).toEqual([
      ['other', 1, 0, 'clerk'],
      ['talk', 2, 0, 'clerk'],
    ]);
  });

  it('S2.10 can name an earlier run without a conversation, which then is its first run', async () => {
    const one = await world.replica();
    const first = await send(one, 'one', { conversationId: undefined });
    await ended(one, first);
    const second = await send(one, 'two', { conversationId: first.id });
    expect(await answerOf(one, second)).toBe('(one two)');
    const { conversation, runs } = await one.conversations.read({ ...TALK, id: first.id }, 10);
    expect([conversation.runs, runs.map(({ id }) => id)]).toEqual([2, [second.id, first.id]]);
    const stranger = await send(one, 'three', { conversationId: first.id, by: 'key:other' });
    expect(await answerOf(one, stranger)).toBe('(three)');
  });

  it('S2.10 100 that are started at the same time on two replicas are executed one after the other, in order', async () => {
    const both = [await world.replica(), await world.replica()] as const;
    const started = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => await send(both[index % 2 ? 0 : 1], `${index}`)),
    );
    await until(
      'all runs have ended',
      async () => (await both[0].store.finishedAmong(started.map(({ id }) => id))).size === 100,
      60_000,
    );
    const times = await timesOf();
    for (const [at, { begins }] of times.slice(1).entries())
      expect(times[at].ends.getTime()).toBeLessThanOrEqual(begins.getTime());
    expect(await answerOf(both[0], await send(both[0], 'end'))).toBe(
      `(${times.map(({ text }) => text).join(' ')} end)`,
    );
  });

  it('S2.10 waits while an earlier one waits for an approval, and continues after failed and cancelled ones', async () => {
    const both = [await world.replica(), await world.replica()] as const;
    const asks = await send(both[0], 'spend');
    const next = await send(both[1], 'next');
    const cancelled = await send(both[0], 'cancelled');
    const last = await send(both[1], 'last');
    const { result } = await ended(both[0], asks);
    for (const replica of both) await replica.workers.pass();
    expect(await stateOf(both[0], next)).toBe('queued');
    await both[0].runs.cancel(keyOf(cancelled), OWNER);
    for (const replica of both) await replica.workers.pass();
    expect(await stateOf(both[0], next)).toBe('queued');
    const [{ callId, inputHash } = { callId: '', inputHash: '' }] = result?.approvals ?? [];
    await both[1].runs.approve(keyOf(asks), { callId, inputHash, approved: false }, { by: 'key:op', mayManage: true });
    expect(await answerOf(both[0], next)).toContain('spend');
    expect(await answerOf(both[0], last)).toMatch(/spend.* next last\)$/);
  });

  it('S2.10 a retry of a failed one waits for its turn, and the failed one is forgotten', async () => {
    const one = await world.replica();
    await ended(one, await send(one, 'one'));
    const failed = await ended(one, await send(one, 'fail'));
    expect(failed.state).toBe('failed');
    expect(await answerOf(one, await send(one, 'two'))).toBe('(one fail two)');
    const retried = await one.runs.startPrepared(await one.runs.prepareRetry(keyOf(failed), OWNER));
    expect(retried.conversationId).toBe('talk');
    expect((await ended(one, retried)).state).toBe('failed');
    expect(await answerOf(one, await send(one, 'three'))).toBe('(one two fail three)');
  });

  it('S2.10 continues with the same messages on another replica after its replica has died, and the next one waits meanwhile', async () => {
    const [dying, other] = [await world.replica(), await world.replica({ maxRunning: 0 })];
    await ended(dying, await send(dying, 'one'));
    const hanging = await send(dying, 'hang');
    const next = await send(other, 'next');
    await until('the model is called', () => world.agents.callsOf('clerk') === 2);
    const heir = await world.replica();
    await heir.workers.pass();
    expect(await stateOf(heir, next)).toBe('queued');
    await world.endLeases();
    await heir.workers.pass();
    expect(await answerOf(heir, hanging)).toBe('(one hang)');
    expect(await answerOf(heir, next)).toBe('(one hang next)');
    expect((await heir.reader.get(keyOf(hanging))).attempts).toBeGreaterThan(1);
  });

  it('S2.10 summarises earlier runs that do not fit the context window, once, and continues with the summary', async () => {
    const long = 'x'.repeat(3_900);
    let heard = '';
    world.agents.defined.set('short', {
      script: (request) => {
        const [system] = request.messages;
        const isSummary = system?.role === 'system' && system.text.startsWith('You summarise');
        if (!isSummary) heard = heardBy(request).join('|').replaceAll(/x+/g, 'x');
        return isSummary ? say('SUMMARY') : say('ok');
      },
      options: { contextWindow: 4_000 },
    });
    const one = await world.replica();
    const talk = async (text: string): Promise<void> => void (await ended(one, await send(one, text, {}, 'short')));
    for (const text of ['first', long, `second ${long}`]) await talk(text);
    const calls = world.agents.callsOf('short');
    await talk(`third ${long}`);
    expect(world.agents.callsOf('short')).toBe(calls + 2);
    expect(heard).toMatch(/^first\|The earlier conversation[^|]*SUMMARY[^|]*\|third x$/);
    await talk('fourth');
    expect(world.agents.callsOf('short')).toBe(calls + 3);
    expect(heard).toMatch(/^first\|The earlier conversation[^|]*SUMMARY[^|]*\|third x\|ok\|fourth$/);
  });
});

describe('a deleted conversation', () => {
  it('S2.10 is not found, its runs are cancelled and lose their contents, and its id begins a new one', async () => {
    const one = await world.replica();
    const done = await send(one, 'secret');
    await ended(one, done);
    const hanging = await send(one, 'hang');
    const queued = await send(one, 'never');
    await one.conversations.remove(TALK, OWNER);
    await expect(one.conversations.read(TALK, 10)).rejects.toMatchObject({ code: 'CONVERSATION_NOT_FOUND' });
    expect([await stateOf(one, hanging), await stateOf(one, queued)]).toEqual(['cancelled', 'cancelled']);
    expect(await answerOf(one, await send(one, 'new'))).toBe('(new)');
    await one.redactor.redact();
    const rows = await world.database.db.query('SELECT r, s FROM run AS r JOIN run_step AS s ON s.run_id = r.id');
    expect(JSON.stringify(rows)).not.toMatch(/secret|never|hang/);
    await expect(
      one.conversations.remove({ ...TALK, by: 'key:other' }, { by: 'key:other', mayManage: false }),
    ).rejects.toMatchObject({ code: 'CONVERSATION_FOREIGN' });
  });

  it('S2.10 a thousand runs that wait in it are cancelled together', async () => {
    const one = await world.replica();
    const hanging = await send(one, 'hang');
    await until('the model is called', () => world.agents.callsOf('clerk') === 1);
    await world.database.db.query(
      `INSERT INTO run (id, namespace, root_id, state, target, agent_id, definition, revision, input, created_by, conversation_id)
       SELECT 'queued' || n, 'default', 'queued' || n, 'queued', '{}', 'clerk', 'clerk', 1, '[]', $1, 'talk' FROM generate_series(1, 1000) AS n`,
      [BY],
    );
    await one.conversations.remove(TALK, OWNER);
    const states = await world.database.db.query('SELECT state, count(*)::integer AS runs FROM run GROUP BY state');
    expect(states).toEqual([{ state: 'cancelled', runs: 1_001 }]);
    expect(await ended(one, hanging)).toMatchObject({ state: 'cancelled' });
    await until('the events are in the log', async () => {
      return (await typesOf(one)).filter((type) => type === 'run.cancelled').length === 1_001;
    });
    expect(world.agents.callsOf('clerk')).toBe(1);
  });

  it('S2.10 disappears with its last run, and a run that is redacted is forgotten', async () => {
    const one = await world.replica({ keepMs: 0 });
    await ended(one, await send(one, 'secret', { redactAfterMs: 0 }));
    await one.redactor.redact();
    expect(await answerOf(one, await send(one, 'next'))).toBe('(next)');
    await one.sweeper.prune();
    expect(await one.conversations.list({ namespace: 'default' }, 10)).toEqual([]);
  });
});

describe('a conversation of a thousand runs', () => {
  it('S2.10 is continued with the messages of the last 500, and is read in pages', async () => {
    const one = await world.replica();
    await ended(one, await send(one, 'one'));
    await world.database.db.query(
      `WITH made AS (INSERT INTO run (id, namespace, root_id, state, target, agent_id, definition, revision, input, created_by, conversation_id, started_at, finished_at, result)
         SELECT 'old' || n, 'default', 'old' || n, 'completed', '{}', 'clerk', 'clerk', 1, '[{"type":"text","text":"m"}]', $1, 'talk', now(), now(), '{"parts":[]}'
         FROM generate_series(1, 999) AS n ORDER BY n RETURNING id)
       INSERT INTO run_step (run_id, seq, step)
         SELECT id, 1, json_build_object('type', 'message', 'parts', json_build_array(json_build_object('type', 'text', 'text', id))) FROM made`,
      [BY],
    );
    const answer = await answerOf(one, await send(one, 'end'));
    expect(answer.split(' ').length).toBe(501);
    expect(answer).toMatch(/^\(old500 old501 .* old999 end\)$/);
    const { runs } = await one.conversations.read(TALK, 3);
    const rest = await one.conversations.read(TALK, 2, runs[1]?.seq);
    expect(rest.runs.map(({ id }) => id)).toEqual(['old998', 'old997']);
  });
});
