import { VendorRegistry } from '#rollcall/providers';

/** The model vendors of this product. One more is registered here. */
export function knownVendors(): VendorRegistry {
  return VendorRegistry.withAll();
}
