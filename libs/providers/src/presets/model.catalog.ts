import { ProviderError } from '../errors.js';
import type {
  ModelCallOptions,
  ModelEvent,
  ModelProvider,
  ModelReply,
  ModelRequest,
} from '../models/model.provider.js';
import type { VendorRegistry } from '../models/vendor.registry.js';
import type { Secret, SecretSource } from '../secrets/secret.js';
import type { ModelChoice } from './preset.catalog.js';

interface ModelCatalogOptions {
  vendors: VendorRegistry;
  secrets: SecretSource;
  /** The `fetch` of an EgressClient. */
  fetch: typeof fetch;
}

/** Opens models. It reads the key each time, so that a changed key takes effect without a restart. */
export class ModelCatalog {
  constructor(private readonly options: ModelCatalogOptions) {}

  open(choice: ModelChoice): ModelProvider {
    const vendor = this.options.vendors.get(choice.vendor);
    const { model, baseUrl } = choice;
    const key = this.keyFor(choice, vendor.needsKey);
    return new PresetModel(vendor.open({ model, baseUrl, key, fetch: this.options.fetch }), choice);
  }

  private keyFor({ keyEnv, vendor, model }: ModelChoice, needed: boolean): Secret | undefined {
    const key = keyEnv === undefined ? undefined : this.options.secrets(keyEnv);
    if (key && !key.fitsHeader) throw unusableKey(keyEnv);
    if (key || (!needed && keyEnv === undefined)) return key;
    const how = keyEnv
      ? `Set ${keyEnv}.`
      : 'Set keyEnv of the preset to the name of the environment variable that contains the key.';
    throw new ProviderError('MODEL_KEY_MISSING', `The model ${vendor} ${model} needs a key. ${how}`);
  }
}

function unusableKey(keyEnv = ''): ProviderError {
  const message = `The key in ${keyEnv} cannot be sent in a header: check it for a line break or a space at the end.`;
  return new ProviderError('MODEL_KEY_REFUSED', message);
}

/** A model with default settings, which a request can override individually. */
class PresetModel implements ModelProvider {
  readonly vendor: string;
  readonly model: string;

  constructor(
    private readonly inner: ModelProvider,
    readonly choice: ModelChoice,
  ) {
    this.vendor = inner.vendor;
    this.model = inner.model;
  }

  async complete(request: ModelRequest, options?: ModelCallOptions): Promise<ModelReply> {
    return await this.inner.complete(this.withSettings(request), options);
  }

  stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelEvent> {
    return this.inner.stream(this.withSettings(request), options);
  }

  private withSettings(request: ModelRequest): ModelRequest {
    return { ...request, settings: { ...this.choice.settings, ...request.settings } };
  }
}

/** Returns the choice that a model was opened with: its settings, prices and context window. */
export function choiceOf(model: ModelProvider): ModelChoice | undefined {
  return model instanceof PresetModel ? model.choice : undefined;
}
