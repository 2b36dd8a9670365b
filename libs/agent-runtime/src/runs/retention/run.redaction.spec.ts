import type { AgentResult } from '#rollcall/providers';
import type { RunStep } from '../run.step.js';
import { REDACTED, redactResult, redactStep } from './run.redaction.js';

const SECRET = 'secret';
const part = { type: 'text', text: SECRET } as const;
const call = { type: 'tool-call', id: 'c1', name: 'pay', input: { to: SECRET }, malformed: SECRET } as const;
const approval = { callId: 'c1', tool: 'pay', input: SECRET, inputHash: SECRET };
const usage = { inputTokens: 10, outputTokens: 5 };
const charges = [{ key: '1/1', tokens: 15, microUsd: 3 }];

const results: AgentResult[] = [
  { outcome: 'completed', parts: [part], usage, conversationId: SECRET },
  { outcome: 'stopped', reason: 'budget', detail: SECRET, parts: [part], usage },
  { outcome: 'waiting', approvals: [approval], parts: [part], usage },
];
const steps: RunStep[] = [
  { type: 'message', parts: [part, { type: 'data', data: { key: SECRET } }] },
  { type: 'message-received', messages: [{ role: 'user', content: [part] }], isCorrection: true },
  {
    type: 'model-replied',
    turn: 1,
    reply: {
      content: [part, { type: 'reasoning', text: SECRET, vendorData: { signature: SECRET } }, call],
      finish: 'tool-calls',
      usage,
      id: SECRET,
    },
    charges,
  },
  { type: 'tool-called', turn: 1, call, idempotent: true },
  {
    type: 'tool-finished',
    turn: 1,
    callId: 'c1',
    name: 'pay',
    output: SECRET,
    memory: [{ key: SECRET, version: 1, value: SECRET }],
  },
  { type: 'approval-decided', callId: 'c1', inputHash: SECRET, approved: false, reason: SECRET },
  { type: 'context-summarised', turn: 2, replaced: 4, summary: SECRET, usage, charges },
  { type: 'tool-call', id: 'c1', name: 'pay', input: SECRET },
  { type: 'tool-result', id: 'c1', name: 'pay', output: SECRET, failed: true },
  { type: 'agent-called', idempotent: false },
  ...results.map((result): RunStep => ({ type: 'finished', result })),
];

describe('the redaction of a run', () => {
  it.each(steps)('B6 removes all contents of a step, and keeps its type: $type', (step) => {
    const redacted = redactStep(step);
    expect(JSON.stringify(redacted)).not.toContain(SECRET);
    expect(redacted.type).toBe(step.type);
    expect(redactStep(redacted)).toEqual(redacted);
  });

  it('B6 B2 keeps what a reply cost, which tools it called, and how it ended', () => {
    const reply = steps.find(({ type }) => type === 'model-replied') as RunStep;
    expect(redactStep(reply)).toEqual({
      type: 'model-replied',
      turn: 1,
      reply: {
        content: [
          { type: 'text', text: REDACTED },
          { type: 'reasoning', text: REDACTED },
          { type: 'tool-call', id: 'c1', name: 'pay', input: REDACTED },
        ],
        finish: 'tool-calls',
        usage,
      },
      charges,
    });
  });

  it('B6 keeps only the type of a step that another version of Rollcall has stored', () => {
    expect(redactStep({ type: 'from-the-future', text: SECRET } as unknown as RunStep)).toEqual({
      type: 'from-the-future',
    });
  });

  it('B6 keeps why a run ended, and removes its answer and all explanations', () => {
    const error = { code: 'MODEL_UNAVAILABLE', message: SECRET };
    const result = { parts: [part], reason: 'budget', detail: SECRET, approvals: [approval], error };
    expect(redactResult(result)).toEqual({
      parts: [{ type: 'text', text: REDACTED }],
      reason: 'budget',
      detail: REDACTED,
      approvals: [{ callId: 'c1', tool: 'pay', input: REDACTED, inputHash: REDACTED }],
      error: { code: 'MODEL_UNAVAILABLE', message: REDACTED },
    });
    expect(redactResult({ parts: [] })).toEqual({ parts: [] });
  });
});
