import type { LanguageModelV4 } from '@ai-sdk/provider';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Always passed to the SDK, which would otherwise read an address from the environment. */
const DEFAULT_BASE_URL = 'https://generativelanguage.googleapis.com/v1beta';

/** The Gemini API of Google. */
export class GoogleVendor implements ModelVendor {
  readonly name = 'google';
  readonly about = "Google's Gemini API";
  readonly needsKey = true;

  open({ model, baseUrl = DEFAULT_BASE_URL, key, fetch }: ModelConnection): ModelProvider {
    const load = async (): Promise<LanguageModelV4> => {
      const { createGoogle } = await import('@ai-sdk/google');
      return createGoogle({ baseURL: baseUrl, apiKey: key?.reveal() ?? '', fetch })(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key });
  }
}
