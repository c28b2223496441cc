// Where algorithms of the catalogue are published.
#pragma once

namespace isthmus::collectives {

inline constexpr const char* barnett = "Barnett, Shuler, Gupta, Payne, van de Geijn, Watts, SHPCC 1994";
inline constexpr const char* bruck_et_al = "Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997";
inline constexpr const char* chan =
    "Chan, Heimlich, Purkayastha, van de Geijn, Concurrency and Computation 19(13), 2007";
inline constexpr const char* chen = "Chen, Zhang, Zhang, Yuan, HPC Asia 2005";
inline constexpr const char* de_sensi = "De Sensi, Bonato, Saam, Hoefler, NSDI 2024";
inline constexpr const char* hensgen = "Hensgen, Finkel, Manber, Int. J. Parallel Programming 17(1), 1988";
inline constexpr const char* hoefler_barrier = "Hoefler, Mehlan, Mietke, Rehm, IPDPS 2006";
inline constexpr const char* hoefler_traeff = "Hoefler, Traeff, HIPS 2009";
inline constexpr const char* jain = "Jain, Sabharwal, ICS 2010";
inline constexpr const char* johnsson_ho = "Johnsson, Ho, IEEE Trans. Computers 38(9), 1989";
inline constexpr const char* karonis = "Karonis et al., IPDPS 2000";
inline constexpr const char* karp = "Karp, Sahay, Santos, Schauser, SPAA 1993";
inline constexpr const char* loch = "Loch, Koslovski, SBAC-PAD 2021";
inline constexpr const char* nishtala = "Nishtala, PhD thesis, UC Berkeley, 2009";
inline constexpr const char* of_rabenseifner = "Rabenseifner, ICCS 2004";
inline constexpr const char* of_traeff = "Traeff, EuroPVM/MPI 2005";
inline constexpr const char* patarasuk = "Patarasuk, Yuan, J. Parallel and Distributed Computing 69(2), 2009";
inline constexpr const char* pjesivac = "Pjesivac-Grbovic et al., Cluster Computing 10(2), 2007";
inline constexpr const char* ruefenacht = "Ruefenacht, Bull, Booth, Parallel Computing 69, 2017";
inline constexpr const char* sanders_speck = "Sanders, Speck, Traeff, Parallel Computing 35(12), 2009";
inline constexpr const char* sanders_traeff = "Sanders, Traeff, EuroPVM/MPI 2006";
inline constexpr const char* suh_shin = "Suh, Shin, IEEE TPDS 12(1), 2001";
inline constexpr const char* thakur = "Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005";
inline constexpr const char* traeff_hunold = "Traeff, Hunold, ICPP 2019";

}  // namespace isthmus::collectives
