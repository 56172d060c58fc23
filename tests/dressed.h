/* What dressed.c reads: how the devices below cld3d look, one after the other, as "vendor:luid:name" in hexadecimal
 * numbers, divided by semicolons. A LUID of 0 is none, and a name that begins with "Blind" means a device without images. */
#define DRESSED_VARIABLE "CLD3D_TEST_DEVICES"
