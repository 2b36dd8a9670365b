import { ProviderError } from '../../errors.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';
import { DEMO, ECHO, STEPS } from './demo.scripts.js';
import { ScriptedModel, type StepFunction } from './scripted.model.js';

/** Offers scripts as models, for tests of a whole installation and for demos without a key. */
export class ScriptedVendor implements ModelVendor {
  readonly name = 'scripted';
  readonly about = 'Scripted answers without a network, for tests and for demos without a key';
  readonly needsKey = false;
  private readonly scripts: Map<string, () => ModelProvider>;

  constructor(scripts: Record<string, () => ModelProvider> = {}) {
    const builtIn = { demo: scriptOf(DEMO, 'demo'), echo: scriptOf(ECHO, 'echo'), steps: scriptOf(STEPS, 'steps') };
    this.scripts = new Map(Object.entries({ ...builtIn, ...scripts }));
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
