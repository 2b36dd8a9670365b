import { setTimeout as delay } from 'node:timers/promises';
import { defineTool, ToolCatalog } from '#rollcall/agent-runtime';
import { type ModelProvider, type ModelRequest, VendorRegistry } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';
import type { TestApi } from './api.js';

type ModelEvents = ReturnType<ModelProvider['stream']>;

const PIECE = 'tick ';
const PIECE_EVERY_MS = 20;

/** Agents whose progress a test controls, for the replicas of an API in this process. */
export class TestAgents {
  /** The model `talker` generates its answer until this gate opens. */
  answered = Promise.withResolvers<void>();
  /** The tool `work` ends when this gate opens. */
  worked = Promise.withResolvers<void>();
  paid = 0;

  reset(): void {
    this.answered = Promise.withResolvers<void>();
    this.worked = Promise.withResolvers<void>();
    this.paid = 0;
  }

  finish(): void {
    this.answered.resolve();
    this.worked.resolve();
  }

  /** Installs the models and the tools in a replica. */
  install({ app }: TestApi): void {
    const tools = [
      defineTool({ name: 'work', description: 'Works.', idempotent: true, execute: async () => await this.work() }),
      defineTool({ name: 'pay', description: 'Pays.', needsApproval: true, execute: () => this.pay() }),
      defineTool({ name: 'tip', description: 'Tips.', approve: 'caller', execute: () => this.pay() }),
    ];
    app.nest.get(ToolCatalog, { strict: false }).add({ name: 'test-tools', tools: () => tools });
    const open = ({ model }: { model: string }): ModelProvider => this.modelOf(model);
    app.nest.get(VendorRegistry, { strict: false }).register({ name: 'test', needsKey: false, open });
  }

  /** Creates a definition for each model. */
  async define(api: TestApi): Promise<void> {
    for (const name of ['talker', 'payer', 'tipper', 'repeater', 'asker']) {
      const model = { vendor: 'test', model: name };
      const tools = ['work', 'pay', 'tip'];
      const content = { description: 'Works.', instructions: 'Work.', model, tools, mayAsk: name === 'asker' };
      const { status, body } = await api.call('POST', '/v1/definitions', { body: { name, content } });
      if (status !== 201) throw new Error(JSON.stringify(body));
    }
  }

  private modelOf(name: string): ModelProvider {
    const script = (request: ModelRequest): ReturnType<typeof say> => {
      const replies = request.messages.filter(({ role }) => role === 'assistant').length;
      if (replies >= (name === 'repeater' ? 2 : 1)) return say('done');
      if (name === 'asker') return callTool('ask_caller', { question: 'Which branch?' }, 'call-1');
      if (name === 'tipper') return callTool('tip', { eur: 5 }, 'call-1');
      const pays = name === 'payer' || name === 'repeater';
      return pays ? callTool('pay', { eur: 5 }, 'call-1') : callTool('work', {}, 'call-1');
    };
    const model = new ScriptedModel(script, name);
    if (name !== 'talker') return model;
    const stream = (request: ModelRequest): ModelEvents => this.talk(model, request);
    return { vendor: 'test', model: name, complete: async (request) => await model.complete(request), stream };
  }

  private async *talk(model: ModelProvider, request: ModelRequest): ModelEvents {
    const answered = this.answered.promise.then(() => true);
    let isOver = request.messages.every(({ role }) => role !== 'assistant');
    while (!isOver) {
      yield { type: 'text', text: PIECE };
      isOver = await Promise.race([answered, delay(PIECE_EVERY_MS, false)]);
    }
    yield* model.stream(request);
  }

  private async work(): Promise<string> {
    await this.worked.promise;
    return 'worked';
  }

  private pay(): string {
    this.paid += 1;
    return 'paid';
  }
}
