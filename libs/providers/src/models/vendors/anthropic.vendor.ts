import { createAnthropic } from '@ai-sdk/anthropic';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Always stated, because the SDK would otherwise look for an address in the environment. */
const ADDRESS = 'https://api.anthropic.com/v1';

/** Anthropic's Messages API. */
export class AnthropicVendor implements ModelVendor {
  readonly name = 'anthropic';
  readonly about = "Anthropic's Messages API";
  readonly needsKey = true;

  open({ model, baseUrl = ADDRESS, key, fetch }: ModelConnection): ModelProvider {
    const anthropic = createAnthropic({ baseURL: baseUrl, apiKey: key?.reveal() ?? '', fetch });
    return new AiSdkModelProvider({ vendor: this.name, model: anthropic(model), key });
  }
}
