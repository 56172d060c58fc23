/* What disguise.c reads: how the devices below cld3d look, one after the other, as "vendor:luid:name" in hexadecimal
 * numbers, divided by semicolons. A LUID of 0 is none. A device whose name begins with "CPU" is one, the others are GPUs. One
 * whose name begins with "Blind" has no images, one named "Gone" does not tell whether it has any, and one named "Formatless" or
 * "Imageless" has images in no format at all, for which the second has another code. It is read in each call, so a test may change it
 * while it runs. The UUID is the vendor's, LOOK_UUID with its number. */
#define DRESSED_VARIABLE "CLD3D_TEST_DEVICES"
#define LOOK_UUID "UUID of a %04x"
