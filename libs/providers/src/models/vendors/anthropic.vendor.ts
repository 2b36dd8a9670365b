import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Always passed to the SDK, which would otherwise read an address from the environment. */
const DEFAULT_BASE_URL = 'https://api.anthropic.com/v1';

export class AnthropicVendor implements ModelVendor {
  readonly name = 'anthropic';
  readonly about = "Anthropic's Messages API";
  readonly needsKey = true;

  open({ model, baseUrl = DEFAULT_BASE_URL, key, fetch }: ModelConnection): ModelProvider {
    const load = async (): Promise<LanguageModelV4> => {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      return createAnthropic({ baseURL: baseUrl, apiKey: key?.reveal() ?? '', fetch })(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key });
  }
}
