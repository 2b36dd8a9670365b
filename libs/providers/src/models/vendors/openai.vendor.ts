import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/**
 * Rollcall stores the conversations itself. If the vendor stored them, the SDK would send references instead of the
 * content.
 */
const STATELESS = { openai: { store: false } };

/** Always passed to the SDK, which would otherwise read an address from the environment. */
const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

/** OpenAI's Responses API. */
export class OpenAiVendor implements ModelVendor {
  readonly name = 'openai';
  readonly about = "OpenAI's Responses API, without storage at the vendor";
  readonly needsKey = true;

  open({ model, baseUrl = DEFAULT_BASE_URL, key, fetch }: ModelConnection): ModelProvider {
    const load = async (): Promise<LanguageModelV4> => {
      const { createOpenAI } = await import('@ai-sdk/openai');
      return createOpenAI({ baseURL: baseUrl, apiKey: key?.reveal() ?? '', fetch }).responses(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key, providerOptions: STATELESS });
  }
}
