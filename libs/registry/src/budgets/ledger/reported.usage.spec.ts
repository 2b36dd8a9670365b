import * as fc from 'fast-check';
import { given } from '../../testing/given.js';
import { ReportingAgent } from '../../testing/reporting-agent.js';
import { type Budget, withReported } from '../budget.js';
import { usageCorrection } from './correction.js';
import { LedgerBatch } from './ledger.batch.js';
import type { EntryKind, LedgerLine } from './ledger.operation.js';

const AGENT = 'builder';
const BUDGET = given.budgetState({ id: 1, kind: 'agent', subject: AGENT, source: 'reported' });
const keyOf = (call: number): { owner: string; key: string } => ({ owner: 'test', key: `call-${call}` });

/** The ledger of one agent that reports its usage. */
class AgentLedger {
  private readonly batch = new LedgerBatch([BUDGET], [], 0);

  reserve(call: number, tokens = 10): void {
    this.batch.apply({ op: 'reserve', request: given.reservation(tokens, { ...keyOf(call), agentId: AGENT }) });
  }

  settle(call: number, tokens: number): void {
    this.batch.apply({ op: 'settle', of: keyOf(call), usage: { tokens, microUsd: 0 } });
  }

  release(call: number): void {
    this.batch.apply({ op: 'release', of: keyOf(call) });
  }

  report(tokens: number): void {
    this.batch.apply(usageCorrection({ budgetId: 1, tokens }));
  }

  /** A usage source counts this total. */
  refresh(tokens: number): void {
    const facts = { budgetId: 1, as: 'refreshed' as const, by: 'langfuse', note: null };
    this.batch.apply({ op: 'correct', correction: { ...facts, usedAtLeast: { tokens, microUsd: 0 } } });
  }

  adjust(tokens: number): void {
    this.batch.apply({
      op: 'correct',
      correction: { budgetId: 1, as: 'adjusted', used: { tokens }, by: 'op', note: null },
    });
  }

  get budget(): Budget {
    return this.batch.writes().budgets[0] ?? BUDGET;
  }

  get used(): number {
    return this.budget.used.tokens;
  }

  get lines(): LedgerLine[] {
    return this.batch.writes().lines;
  }

  charged(...kinds: EntryKind[]): number {
    const lines = this.lines.filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));
    return lines.reduce((total, { amount }) => total + amount.tokens, 0);
  }
}

type Step = ['reserve' | 'settle' | 'release' | 'use' | 'measure' | 'deliver' | 'adjust', number, number];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('reserve', 'settle', 'settle', 'release', 'use', 'use', 'measure', 'deliver', 'deliver', 'adjust'),
  fc.nat(5),
  fc.nat(500),
);

/** Applies the step to the model and to the ledger. */
function apply([kind, which, tokens]: Step, agent: ReportingAgent, ledger: AgentLedger): void {
  const call = agent.calls[which];
  const measurement = agent.measurements[which % Math.max(1, agent.measurements.length)];
  if (kind === 'reserve') ledger.reserve(agent.begin());
  if (kind === 'use') agent.use(which, tokens);
  if (kind === 'measure') agent.measure();
  if (kind === 'deliver' && measurement) ledger.report(agent.deliver(measurement));
  if (kind === 'adjust') ledger.adjust(tokens);
  if (call?.state !== 'open') return;
  if (kind === 'settle') {
    agent.end(which, 'settled');
    ledger.settle(which, call.used);
  }
  if (kind === 'release') {
    agent.end(which, 'released');
    ledger.release(which);
  }
}

/** The size is `max`, because the default of fast-check is about ten steps: too few for a report during a call. */
const steps = fc.array(step, { maxLength: 60, size: 'max' });
const withoutAdjustments = steps.map((all) => all.filter(([kind]) => kind !== 'adjust'));

describe('reports and settlements in any order', () => {
  it('S3.10 reports and settlements never charge a token twice, even with late and repeated reports and with adjustments', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const [agent, ledger] = [new ReportingAgent(), new AgentLedger()];
        for (const one of all) {
          apply(one, agent, ledger);
          expect(ledger.charged('charged', 'reported')).toBeLessThanOrEqual(agent.known);
          expect(ledger.charged()).toBe(ledger.used);
          expect(ledger.budget.own).toEqual(ledger.budget.used);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('S3.10 reports and settlements have charged every token after the agent has reported its total', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const [agent, ledger] = [new ReportingAgent(), new AgentLedger()];
        for (const one of all) apply(one, agent, ledger);
        ledger.report(agent.total);
        expect(ledger.charged('charged', 'reported')).toBe(agent.total);
      }),
      { numRuns: 300 },
    );
  });

  it('S3.10 reports and settlements charge at least the highest report and all calls that were reserved after the last report', () => {
    fc.assert(
      fc.property(withoutAdjustments, fc.array(fc.nat(500), { maxLength: 5 }), (all, later) => {
        const [agent, ledger] = [new ReportingAgent(), new AgentLedger()];
        for (const one of all) {
          apply(one, agent, ledger);
          expect(ledger.used).toBeGreaterThanOrEqual(agent.highestReport);
        }
        const before = ledger.used;
        for (const tokens of later) {
          const call = agent.begin();
          ledger.reserve(call);
          ledger.settle(call, tokens);
        }
        expect(ledger.used).toBe(before + later.reduce((total, one) => total + one, 0));
      }),
      { numRuns: 200 },
    );
  });
});

/** An agent whose total a usage source counts, instead of a report. */
class RefreshedLedger extends AgentLedger {
  override report(tokens: number): void {
    this.refresh(tokens);
  }
}

describe('the totals of a usage source and settlements in any order', () => {
  it('S3.10 a usage source and settlements never charge a token twice, and charge every token that the source has counted', () => {
    fc.assert(
      fc.property(withoutAdjustments, (all) => {
        const [agent, ledger] = [new ReportingAgent(), new RefreshedLedger()];
        for (const one of all) {
          apply(one, agent, ledger);
          expect(ledger.used).toBeLessThanOrEqual(agent.known);
          expect(ledger.charged()).toBe(ledger.used);
        }
        ledger.refresh(agent.total);
        expect(ledger.used).toBe(agent.total);
      }),
      { numRuns: 300 },
    );
  });
});

describe('an agent that reports 1,400 tokens, 400 of them in a call', () => {
  const orders: [string, { before: number[]; after: number[] }][] = [
    ['before the settlement', { before: [1_400], after: [] }],
    ['after the settlement', { before: [], after: [1_400] }],
    ['before and after the settlement', { before: [1_400], after: [1_400] }],
    ['a part before the settlement and the total after it', { before: [150], after: [1_400] }],
    ['in several parts during the call', { before: [900, 1_150, 1_400], after: [] }],
    ['a lower total later', { before: [1_400], after: [300] }],
  ];

  it.each(orders)('S3.10 an agent is charged all 1,400 tokens if it reports %s', (_order, { before, after }) => {
    const ledger = new AgentLedger();
    ledger.reserve(1);
    for (const total of before) ledger.report(total);
    ledger.settle(1, 400);
    for (const total of after) ledger.report(total);
    expect(ledger.used).toBe(1_400);
  });

  it('S3.10 an agent is charged the part of a call that its report does not contain', () => {
    const ledger = new AgentLedger();
    ledger.reserve(1, 400);
    ledger.report(150);
    ledger.settle(1, 400);
    expect(ledger.used).toBe(400);
    expect(ledger.lines.map(({ kind, amount, marks }) => [kind, amount.tokens, marks])).toEqual([
      ['reported', 150, []],
      ['charged', 250, ['reported']],
    ]);
  });

  it('S3.10 an adjustment is kept, and later reports charge only the new tokens', () => {
    const ledger = new AgentLedger();
    ledger.report(1_400);
    ledger.adjust(0);
    ledger.report(1_400);
    expect(ledger.used).toBe(0);
    expect(withReported(ledger.budget, 1_400).used.tokens).toBe(0);
    expect(withReported(ledger.budget, 1_500).used.tokens).toBe(100);
    ledger.report(1_500);
    expect(ledger.used).toBe(100);
  });
});
