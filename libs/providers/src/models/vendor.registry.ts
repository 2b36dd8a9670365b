import { NamedRegistry } from '../named.registry.js';
import type { ModelVendor } from './model.vendor.js';
import { ScriptedVendor } from './scripted/scripted.vendor.js';
import { AnthropicVendor } from './vendors/anthropic.vendor.js';
import { AzureVendor } from './vendors/azure.vendor.js';
import { BedrockVendor } from './vendors/bedrock.vendor.js';
import { GoogleVendor } from './vendors/google.vendor.js';
import { COMPATIBLE_SERVERS, OpenAiCompatibleVendor } from './vendors/openai-compatible.vendor.js';
import { OpenAiVendor } from './vendors/openai.vendor.js';

/** The model vendors by name. A new vendor needs one class and one `register` call. */
export class VendorRegistry extends NamedRegistry<ModelVendor> {
  constructor() {
    super({ noun: 'model vendor', unknownCode: 'MODEL_VENDOR_UNKNOWN', takenCode: 'MODEL_VENDOR_TAKEN' });
  }

  static withAll(scripted = new ScriptedVendor()): VendorRegistry {
    const registry = new VendorRegistry()
      .register(new AnthropicVendor())
      .register(new OpenAiVendor())
      .register(new GoogleVendor())
      .register(new AzureVendor())
      .register(new BedrockVendor())
      .register(new OpenAiCompatibleVendor())
      .register(scripted);
    for (const server of COMPATIBLE_SERVERS) registry.register(new OpenAiCompatibleVendor(server));
    return registry;
  }
}
