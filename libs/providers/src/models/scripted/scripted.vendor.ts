import { ProviderError } from '../../errors.js';
import type { ModelProvider, ModelRequest } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';
import { after, callTool, say } from './script.js';
import { ScriptedModel, type StepFunction } from './scripted.model.js';

/** Scripts of every installation, so that a demo runs without a key. */
const ECHO: StepFunction = (request) => say(`You said: ${lastUserText(request)}`);

const STEP_DELAY_MS = 200;
const MAX_STEPS = 50;

/** Reads the clock as often as the first number in the first message of the user says, with a short pause before each reply. */
const STEPS: StepFunction = ({ messages }) => {
  const first = messages.find((message) => message.role === 'user');
  const wanted = Math.min(MAX_STEPS, Number(/\d+/.exec(JSON.stringify(first?.content))?.[0] ?? 3));
  const made = messages.filter(({ role }) => role === 'assistant').length;
  if (made < wanted) return after(STEP_DELAY_MS, callTool('clock', {}, `clock-${made + 1}`));
  return after(STEP_DELAY_MS, say(`I have read the clock ${wanted} times.`));
};

/** Offers scripts as models, for tests of a whole installation and for demos without a key. */
export class ScriptedVendor implements ModelVendor {
  readonly name = 'scripted';
  readonly about = 'Scripted answers without a network, for tests and for demos without a key';
  readonly needsKey = false;
  private readonly scripts: Map<string, () => ModelProvider>;

  constructor(scripts: Record<string, () => ModelProvider> = {}) {
    this.scripts = new Map(
      Object.entries({ echo: scriptOf(ECHO, 'echo'), steps: scriptOf(STEPS, 'steps'), ...scripts }),
    );
  }

  open({ model }: Pick<ModelConnection, 'model'>): ModelProvider {
    const make = this.scripts.get(model);
    if (make) return make();
    const known = [...this.scripts.keys()].toSorted().join(', ');
    throw new ProviderError('MODEL_CHOICE_INVALID', `There is no script ${model}. Known scripts: ${known}.`);
  }
}

function scriptOf(script: StepFunction, name: string): () => ModelProvider {
  return () => new ScriptedModel(script, name);
}

function lastUserText({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}
