import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ProviderError } from '../../errors.js';
import { AiSdkModelProvider } from '../ai-sdk/ai-sdk.model-provider.js';
import type { ModelProvider } from '../model.provider.js';
import type { ModelConnection, ModelVendor } from '../model.vendor.js';

/** The Converse API of Amazon Bedrock, with a Bedrock API key. */
export class BedrockVendor implements ModelVendor {
  readonly name = 'bedrock';
  readonly about = 'Amazon Bedrock, with a Bedrock API key';
  readonly needsBaseUrl = true;
  readonly needsKey = true;

  open({ model, baseUrl, key, fetch }: ModelConnection): ModelProvider {
    if (!baseUrl)
      throw new ProviderError(
        'MODEL_CHOICE_INVALID',
        `The model ${model} of vendor bedrock needs a baseUrl, such as https://bedrock-runtime.eu-central-1.amazonaws.com.`,
      );
    const load = async (): Promise<LanguageModelV4> => {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
      // the region is part of the address; the SDK must not read another one from the environment
      return createAmazonBedrock({ baseURL: baseUrl, region: 'none', apiKey: key?.reveal() ?? '', fetch })(model);
    };
    return new AiSdkModelProvider({ vendor: this.name, model, load, key });
  }
}
