import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { userMessage } from '#rollcall/providers';
import { failWith, say, scripted } from '#rollcall/providers/testing';
import { composeModel } from '../../middleware/compose.js';
import type { ModelCall } from '../../middleware/middleware.js';
import { given } from '../given.js';
import { InMemorySpending } from '../in-memory.spending.js';
import { maskEmails } from './mask-emails.middleware.js';
import { ask } from './paid-run.example.js';

const ROOT = join(import.meta.dirname, '../../../../..');
const page = (path: string): string => readFileSync(join(ROOT, 'docs', path), 'utf8');
const example = (file: string): string => readFileSync(join(import.meta.dirname, file), 'utf8');

describe('docs/how-to/add-a-middleware.md', () => {
  it('S2.8 quotes the example exactly, and has less than 40 lines', () => {
    expect(page('how-to/add-a-middleware.md')).toContain(`\`\`\`ts\n${example('mask-emails.middleware.ts')}\`\`\``);
    expect(page('how-to/add-a-middleware.md').trimEnd().split('\n').length).toBeLessThan(40);
  });

  it('S2.8 contains a middleware that works', async () => {
    const sent: ModelCall[] = [];
    const call = given.modelCall({ request: { messages: [userMessage('Write to ada@example.com, please.')] } });
    await composeModel([maskEmails], async (made) => {
      sent.push(made);
      return given.reply('ok');
    })(call);
    expect(sent[0]?.request.messages).toEqual([userMessage('Write to (e-mail), please.')]);
    expect(call.request.messages).toEqual([userMessage('Write to ada@example.com, please.')]);
  });
});

describe('docs/runtime/middleware.md', () => {
  beforeAll(() => Logger.overrideLogger(false));

  it('S2.8 quotes the example exactly', () => {
    expect(page('runtime/middleware.md')).toContain(`\`\`\`ts\n${example('paid-run.example.ts')}\`\`\``);
  });

  it('S2.8 S2.9 B2 contains a run with the default middleware: retried, checked, and paid', async () => {
    const spending = new InMemorySpending();
    const model = scripted(failWith(429, { retryAfterMs: 1 }), say('  Paris  '));
    expect(await ask(given.runCall(), model, spending)).toBe('Paris');
    model.assertAllStepsUsed();
    const { own } = await spending.usageOf({ namespace: 'default', runId: 'run-1' });
    expect(own.tokens).toBeGreaterThan(0);
    expect(own.tokens).toBeLessThan(100);
    expect(spending.heldBy('default', 'run-1').tokens).toBe(0);
  });

  it('S2.8 the default middleware rejects input and reports limits as outcomes', async () => {
    const state = { ...given.runCall().state, messages: [userMessage('x'.repeat(10_001))] };
    const answer = await ask(given.runCall({ state }), scripted(), new InMemorySpending());
    expect(JSON.parse(answer)).toMatchObject({ type: 'stopped', reason: 'guardrail' });
  });
});
