import { createOpenAI } from '@ai-sdk/openai';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Conversations live in our own runs; kept at the vendor they would also be referred to instead of sent. */
const STATELESS = { openai: { store: false } };

/** Always stated, because the SDK would otherwise look for an address in the environment. */
const ADDRESS = 'https://api.openai.com/v1';

/** OpenAI's Responses API. */
export class OpenAiVendor implements ModelVendor {
  readonly name = 'openai';
  readonly about = "OpenAI's Responses API, asked to store nothing";
  readonly needsKey = true;

  open({ model, baseUrl = ADDRESS, key, fetch }: ModelConnection): ModelProvider {
    const openai = createOpenAI({ baseURL: baseUrl, apiKey: key?.reveal() ?? '', fetch });
    return new AiSdkModelProvider({
      vendor: this.name,
      model: openai.responses(model),
      key,
      providerOptions: STATELESS,
    });
  }
}
