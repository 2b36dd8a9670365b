import { ProviderError } from '../../errors.js';
import type { ModelProvider, ModelRequest } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';
import { say } from './script.js';
import { ScriptedModel, type StepFunction } from './scripted.model.js';

/** The script of every installation, so that a demo runs without a key. */
const ECHO: StepFunction = (request) => say(`You said: ${lastUserText(request)}`);

/** Offers scripts as models, for tests of a whole installation and for demos without a key. */
export class ScriptedVendor implements ModelVendor {
  readonly name = 'scripted';
  readonly about = 'Scripted answers without a network, for tests and for demos without a key';
  readonly needsKey = false;
  private readonly scripts: Map<string, () => ModelProvider>;

  constructor(scripts: Record<string, () => ModelProvider> = {}) {
    this.scripts = new Map(Object.entries({ echo: () => new ScriptedModel(ECHO, 'echo'), ...scripts }));
  }

  open({ model }: Pick<ModelConnection, 'model'>): ModelProvider {
    const make = this.scripts.get(model);
    if (make) return make();
    const known = [...this.scripts.keys()].toSorted().join(', ');
    throw new ProviderError('MODEL_CHOICE_INVALID', `There is no script ${model}. Known scripts: ${known}.`);
  }
}

function lastUserText({ messages }: ModelRequest): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.content.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? '';
}
