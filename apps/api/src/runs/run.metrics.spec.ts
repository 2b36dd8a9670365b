import { RunMeter } from '#rollcall/agent-runtime';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { RunMetrics } from './run.metrics.js';

const RUN = { namespace: 'default', parentId: null, createdAt: '2026-11-17T10:00:00.000Z', finishedAt: null } as const;
const TIMES = { startedAt: '2026-11-17T10:00:02.000Z', finishedAt: '2026-11-17T10:00:05.000Z' };

let meter: RunMeter;
let metrics: HttpMetrics;
beforeEach(() => {
  meter = new RunMeter();
  metrics = new HttpMetrics(() => 0);
  expect(new RunMetrics(meter, metrics)).toBeDefined();
});

const valuesOf = async (name: string): Promise<{ labels: object; value: number }[]> =>
  ((await metrics.registry.getSingleMetric(name)?.get())?.values ?? []).map(({ labels, value }) => ({ labels, value }));

describe('the metrics of runs', () => {
  it('B6 the metrics of runs have a bounded number of series: further definitions are counted together', async () => {
    for (let index = 0; index < 250; index += 1) {
      const definition = { name: `d${index}`, revision: 1 };
      meter.finished({ ...RUN, ...TIMES, definition, state: 'completed' });
    }
    const values = await valuesOf('rollcall_runs_finished_total');
    expect(values).toHaveLength(101);
    expect(values.at(-1)).toEqual({
      labels: { namespace: 'other', definition: 'other', state: 'completed' },
      value: 150,
    });
  });

  it('B6 a run that waits is not counted as finished, and a run that was never executed has no duration', async () => {
    meter.finished({ ...RUN, definition: null, startedAt: TIMES.startedAt, state: 'waiting' });
    meter.finished({ ...RUN, ...TIMES, definition: null, startedAt: null, state: 'cancelled' });
    expect(await valuesOf('rollcall_runs_finished_total')).toEqual([
      { labels: { namespace: 'default', definition: '', state: 'cancelled' }, value: 1 },
    ]);
    expect(await valuesOf('rollcall_run_duration_seconds')).toEqual([]);
  });

  it('B6 B2 usage is counted from the result of an agent with its own loop, and from each reply of any other agent', async () => {
    const run = { namespace: 'default', definition: null };
    const usage = { inputTokens: 10, outputTokens: 5, costMicroUsd: 2_000_000 };
    const result = { outcome: 'completed', parts: [], usage } as const;
    meter.stored(run, { type: 'finished', result }, true);
    meter.stored(run, { type: 'finished', result }, false);
    const reply = { content: [], finish: 'stop', usage: { inputTokens: 1 } } as const;
    const charges = [{ key: '1/1', tokens: 1, microUsd: 500_000 }];
    meter.stored(run, { type: 'model-replied', turn: 1, reply: { ...reply, content: [] }, charges }, false);
    const labels = { namespace: 'default', definition: '' };
    expect(await valuesOf('rollcall_run_tokens_total')).toEqual([
      { labels: { ...labels, direction: 'input' }, value: 11 },
      { labels: { ...labels, direction: 'output' }, value: 5 },
    ]);
    expect(await valuesOf('rollcall_run_cost_usd_total')).toEqual([{ labels, value: 2.5 }]);
  });
});
