import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ProviderError } from '../../errors.js';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** Otherwise Azure would store the conversations, and the SDK would send references instead of the content. */
const STATELESS = { openai: { store: false } };

/** The Responses API of Azure OpenAI, version 1, which is that of OpenAI. The model is the name of a deployment. */
export class AzureVendor implements ModelVendor {
  readonly name = 'azure';
  readonly about = 'Deployments of Azure OpenAI; the model is the name of the deployment';
  readonly needsBaseUrl = true;
  readonly needsKey = true;

  open({ model, baseUrl, key, fetch }: ModelConnection): ModelProvider {
    if (!baseUrl)
      throw new ProviderError(
        'MODEL_CHOICE_INVALID',
        `The deployment ${model} of vendor azure needs a baseUrl, such as https://my-resource.openai.azure.com/openai/v1.`,
      );
    const load = async (): Promise<LanguageModelV4> => {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const apiKey = key?.reveal() ?? '';
      return createOpenAI({ baseURL: baseUrl, apiKey, headers: { 'api-key': apiKey }, fetch }).responses(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key, providerOptions: STATELESS });
  }
}
